"""Start the app's server, and say where it can be reached."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from embedviz.errors import BadInput, EmbedvizError

APP = Path(__file__).resolve().parent.parent / "app.py"


def port_is_free(port: int, address: str = "127.0.0.1") -> bool:
    """Whether a server could listen on this port now."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def check_port(port: int) -> None:
    """Raise BadInput for a number that is no port."""
    if not 1 <= port <= 65535:
        raise BadInput(f"A port is a number from 1 to 65535; {port} was given.")


def address_on_network() -> str | None:
    """This machine's address for others on the same network; None where it has none.

    A UDP socket that is "connected" sends nothing: it only asks the system which address it would use.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found = str(probe.getsockname()[0])
    return None if found.startswith(("127.", "0.")) else found


def qr_code(url: str) -> str:
    """A QR code of an address, drawn with block characters for a terminal."""
    import io

    import segno

    drawn = io.StringIO()
    segno.make(url, error="m").terminal(out=drawn, compact=True)
    return drawn.getvalue()


def serve(address: str, port: int, model: str | None, *, open_browser: bool) -> None:
    """Run the app until it is stopped.

    address: "" for this machine alone; else an address of this machine, or 0.0.0.0 for all of them, and the address
        that others type is printed with its QR code.
    Raises BadInput for a port that is taken or an address that is not this machine's.
    """
    if not APP.exists():
        raise EmbedvizError("app.py is not beside the embedviz folder: start the app from a clone of the project.")
    check_port(port)
    from embedviz.models import catalog

    if model is not None:
        catalog.find(model)
        os.environ["EMBEDVIZ_MODEL"] = model
    # A wrong EMBEDVIZ_MODEL is said here, and not on every page.
    catalog.default()
    listen = address or "127.0.0.1"
    try:
        socket.getaddrinfo(listen, port)
    except OSError:
        raise BadInput(f"{address} is no address of this machine: leave it out, or use 0.0.0.0 for all.") from None
    if not port_is_free(port, listen):
        if address and port_is_free(port, "127.0.0.1") and port_is_free(port, "0.0.0.0"):
            raise BadInput(f"{address} is no address of this machine: use 0.0.0.0, or one that `ip address` lists.")
        raise BadInput(f"Port {port} is taken by another program: stop it, or add --port {port + 1}.")
    shown = listen if address else "localhost"
    if address in ("0.0.0.0", "::"):
        shown = address_on_network() or "localhost"
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"
    print(f"embedviz runs at {url} (Ctrl+C stops it).", flush=True)
    everywhere = address in ("0.0.0.0", "::")
    if everywhere and shown == "localhost":
        print("This machine is on no network, so others cannot reach it.", flush=True)
    elif address and shown != "localhost" and not shown.startswith("127.") and shown != "::1":
        print(f"Others on the same network type this address, or scan it:\n{qr_code(url)}", flush=True)
    options = {
        "server.address": listen,
        "server.port": port,
        "server.headless": "false" if open_browser else "true",
        "browser.serverAddress": shown,
        "logger.hideWelcomeMessage": "true",
        "logger.level": "warning",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    # Streamlit reads .streamlit/config.toml from the folder it is started in.
    os.chdir(APP.parent)
    from streamlit.web import cli

    sys.exit(cli.main(["run", str(APP), *arguments], standalone_mode=False))

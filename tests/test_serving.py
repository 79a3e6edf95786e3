"""Addresses, ports and the QR code."""

from __future__ import annotations

import socket

import pytest

from embedviz.errors import BadInput
from embedviz.serving import port_is_free, qr_code, serve


def test_a_taken_port_is_refused_with_the_next_one_to_try() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert not port_is_free(port)
        with pytest.raises(BadInput, match=f"Port {port} is taken.*--port {port + 1}"):
            serve("", port, None, open_browser=False)


def test_qr_code_is_drawn_in_lines_of_one_width() -> None:
    drawn = qr_code("http://192.0.2.7:8501").rstrip("\n").split("\n")
    assert len(drawn) > 10

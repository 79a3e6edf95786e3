"""What the pages share on screen; nothing else in the package imports Streamlit."""

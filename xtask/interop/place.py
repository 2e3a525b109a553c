"""Where the host is that the clients talk to, from the environment."""

import os

BASE = os.environ["LONGHAUL_URL"]
URL = BASE + "/mcp"
HEADERS = {"Authorization": "Bearer " + os.environ["LONGHAUL_TOKEN"]}
STDIO = [os.environ["LONGHAUL_BIN"], "--data", os.environ["LONGHAUL_DATA"], "mcp"]

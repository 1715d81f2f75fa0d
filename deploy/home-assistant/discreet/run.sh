#!/bin/sh
# The app: /data is the Supervisor's folder for it. discreet itself is not root.
set -eu
chown -R discreet:discreet /data
chmod 0700 /data
umask 0077
cd /data
exec setpriv --reuid discreet --regid discreet --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \
    discreet serve --supervisor http://supervisor --config /data/discreet.toml --data /data/files

#!/bin/sh
# Makes a page of $SIZE bytes and serves it.
mkdir /tmp/www && truncate -s "$SIZE" /tmp/www/page
exec nginx -e stderr -c "$FILES/nginx.conf"

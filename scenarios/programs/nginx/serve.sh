#!/bin/sh
# Makes a page of $SIZE bytes and serves it.
mkdir /tmp/www && truncate -s "$SIZE" /tmp/www/page
exec nginx -c "$FILES/nginx.conf"

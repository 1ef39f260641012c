#!/bin/sh
# Creates secrets/ in the current folder, with what docker-compose.yml reads from it. Never replaces one.
set -eu

password() {
  openssl rand -hex 24
}

if ! mkdir -m 700 secrets; then
  echo 'secrets/ is left as it is: with another encryption_key the processor credentials could not be read.' >&2
  exit 1
fi
cd secrets
# The processes in the containers are other users. Here, the folder keeps other users out.
umask 022
postgres=$(password)
redis=$(password)
printf %s "$postgres" > postgres_password
printf %s "postgresql://refunds:$postgres@postgres:5432/refunds" > database_owner_url
printf %s "postgresql://refunds_service:$(password)@postgres:5432/refunds" > database_url
printf %s "redis://:$redis@redis:6379" > redis_url
printf 'requirepass %s\n' "$redis" > redis.conf
openssl rand -base64 32 > encryption_key

import type { IncomingHttpHeaders } from 'node:http';

/** The bearer token of the `Authorization` header. */
export function bearerOf({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

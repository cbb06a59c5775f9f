import { CREDENTIAL_HEADERS } from '@uswarm/contract';

type CredentialHeader = (typeof CREDENTIAL_HEADERS)[number];

/** Credentials of a client by lower-case header name; the same for HTTP and sockets. */
export type Credentials = Partial<Record<CredentialHeader, string>>;

/** Picks the headers that take part in authentication; one that came twice is left out. */
export function readCredentials(headers: Record<string, string | string[] | undefined>): Credentials {
  const credentials: Credentials = {};
  for (const name of CREDENTIAL_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') credentials[name] = value;
  }
  return credentials;
}

/** The token of `Authorization: Bearer <token>`; undefined for anything else. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

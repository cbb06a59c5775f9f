import { CREDENTIAL_HEADERS } from '@uswarm/contract';

type CredentialHeader = (typeof CREDENTIAL_HEADERS)[number];

/** Client credentials by lower-case header name, for HTTP and sockets. */
export type Credentials = Partial<Record<CredentialHeader, string>>;

/** Ignores repeated headers. */
export function readCredentials(headers: Record<string, string | string[] | undefined>): Credentials {
  const credentials: Credentials = {};
  for (const name of CREDENTIAL_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') credentials[name] = value;
  }
  return credentials;
}

/** The token in `Authorization: Bearer <token>`; undefined for anything else. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

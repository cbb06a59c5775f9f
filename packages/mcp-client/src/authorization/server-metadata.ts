import { buildDiscoveryUrls } from '@modelcontextprotocol/client';
import { isSecureUrl, parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { AuthorizationFailure, quoted } from './authorization-failure.js';
import { ask, isPassing, isRedirect, oddAsAbsent, type RequestOptions } from './limited-request.js';

/**
 * The documents in which a server describes its accounts. The SDK's schemas are not used: they refuse a document
 * for an odd field without use.
 */

const Text = z.string().min(1);
const TextsOfList = z.array(z.unknown()).transform((list) => list.filter((entry) => Text.safeParse(entry).success));
/** An empty list counts as absent. */
const Texts = oddAsAbsent(TextsOfList.pipe(z.array(z.string()).min(1)));

/** RFC 9728. */
const ResourceMetadata = z.object({
  resource: Text,
  authorization_servers: Texts,
  scopes_supported: Texts,
});
export type ResourceMetadata = z.output<typeof ResourceMetadata>;

/** RFC 8414, or OpenID Connect Discovery. */
const ServerMetadata = z.object({
  issuer: Text,
  authorization_endpoint: Text,
  token_endpoint: Text,
  registration_endpoint: oddAsAbsent(Text),
  revocation_endpoint: oddAsAbsent(Text),
  token_endpoint_auth_methods_supported: Texts,
  code_challenge_methods_supported: Texts,
  authorization_response_iss_parameter_supported: oddAsAbsent(z.boolean()),
});
export type ServerMetadata = z.output<typeof ServerMetadata>;

/**
 * @param announced the address in the server's challenge
 * @returns undefined if the server publishes none
 */
export async function readResourceMetadata(
  server: URL,
  announced: URL | undefined,
  options: RequestOptions,
): Promise<ResourceMetadata | undefined> {
  const wellKnown = new URL('/.well-known/oauth-protected-resource', server);
  const inserted = new URL(`${wellKnown.pathname}${withoutSlash(server.pathname)}${server.search}`, server);
  const addresses = [...(announced === undefined ? [] : [announced]), inserted, wellKnown];
  const found = await readFirst(addresses, ResourceMetadata, options);
  if (found !== undefined) requireResourceOf(found.resource, server);
  return found;
}

/**
 * @param issuer identifies the authorization server. Its document must name the same one, or an authorization server could
 *   pose as another (RFC 8414 §3.3).
 * @returns undefined if the server publishes none
 */
export async function readServerMetadata(issuer: URL, options: RequestOptions): Promise<ServerMetadata | undefined> {
  const appended = new URL(`${withoutSlash(issuer.pathname)}/.well-known/oauth-authorization-server`, issuer);
  const addresses = [...buildDiscoveryUrls(issuer).map(({ url }) => url), appended];
  const found = await readFirst(addresses, ServerMetadata, options);
  if (found !== undefined && withoutSlash(found.issuer) !== withoutSlash(issuer.href)) {
    const message = `the metadata of the authorization server ${quoted(issuer.href)} names another issuer: ${quoted(found.issuer)}`;
    throw new AuthorizationFailure('invalid', message);
  }
  return found;
}

/** @throws AuthorizationFailure unless tokens may be sent to the address */
export function secureUrl(address: string, name: string): URL {
  const problem = (rule: string) => new AuthorizationFailure('invalid', `${name} ${rule}: ${quoted(address)}`);
  const url = URL.parse(address);
  if (url === null) throw problem('is not an address');
  if (url.username !== '' || url.password !== '')
    throw new AuthorizationFailure('invalid', `${name} contains credentials`);
  if (!isSecureUrl(url.href)) throw problem('needs https');
  return url;
}

/**
 * Tries addresses until one has a document. An address may also answer with a page or fail, if a server knows only
 * another one. But if none has a document, a failure is not taken for "the server publishes none".
 */
async function readFirst<Schema extends z.ZodType>(
  addresses: readonly URL[],
  schema: Schema,
  options: RequestOptions,
): Promise<z.output<Schema> | undefined> {
  let problem: AuthorizationFailure | undefined;
  for (const url of new Map(addresses.map((address) => [address.href, address])).values()) {
    const headers = { accept: 'application/json' };
    const { status, body } = await ask({ url, init: { headers } }, options);
    const document = status >= 200 && status < 300 ? parseJson(body) : undefined;
    if (typeof document === 'object' && document !== null) return parsed(document, schema, url);
    problem ??= problemOf(status, url);
  }
  if (problem !== undefined) throw problem;
  return undefined;
}

function parsed<Schema extends z.ZodType>(document: object, schema: Schema, url: URL): z.output<Schema> {
  const { data, error } = schema.safeParse(document);
  if (data !== undefined) return data;
  const [issue] = error?.issues ?? [];
  const message = `the metadata at ${quoted(url.href)} has no valid ${issue?.path.join('.') ?? 'content'}`;
  throw new AuthorizationFailure('invalid', message, error);
}

/** Undefined if the address has no document. */
function problemOf(status: number, url: URL): AuthorizationFailure | undefined {
  const address = quoted(url.href);
  if (isPassing(status)) return new AuthorizationFailure('unreachable', `${address} answered status ${status}`);
  if (isRedirect(status)) return new AuthorizationFailure('invalid', `${address} redirects, which is not followed`);
  return status >= 400 ? undefined : new AuthorizationFailure('invalid', `${address} did not answer with JSON`);
}

/**
 * RFC 9728 §3.3: a server cannot describe another one. Its resource may be broader than its own address: an origin or
 * a folder.
 */
function requireResourceOf(resource: string, server: URL): void {
  const named = secureUrl(resource, 'the resource in the metadata of the server');
  const folder = `${withoutSlash(named.pathname)}/`;
  const contains = `${withoutSlash(server.pathname)}/`.startsWith(folder);
  const sameQuery = named.search === '' || named.search === server.search;
  if (named.origin === server.origin && contains && sameQuery && named.hash === '') return;
  const message = `the metadata of the server names another resource: ${quoted(resource)}`;
  throw new AuthorizationFailure('invalid', message);
}

const withoutSlash = (text: string): string => (text.endsWith('/') ? text.slice(0, -1) : text);

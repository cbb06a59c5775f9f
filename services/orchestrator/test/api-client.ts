import { checkResponse } from '@uswarm/contract/checks';
import type { ErrorBody, ErrorCode } from '@uswarm/contract';
import { request } from 'undici';

/** A response whose body was checked against the contract. */
export interface Answer<Body> {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Body;
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface RawRequest {
  method: Method;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** Methods throw if the status differs from the expected one. `Body` is the type that the test expects. */
export interface ApiClient {
  headers: Record<string, string>;
  /** Sends the request unchanged except for the client's headers. */
  raw<Body = unknown>(request: RawRequest): Promise<Answer<Body>>;
  get<Body>(path: string, expected?: number): Promise<Answer<Body>>;
  post<Body>(path: string, body: unknown, expected: number): Promise<Answer<Body>>;
  patch<Body>(path: string, body: unknown, expected: number): Promise<Answer<Body>>;
  delete<Body>(path: string, body: unknown, expected: number): Promise<Answer<Body>>;
  /** @returns the error code @throws Error if the request succeeds */
  refusal(method: Method, path: string, body?: unknown): Promise<ErrorCode>;
  with(headers: Record<string, string>): ApiClient;
}

/**
 * Creates a client that checks every response against the contract, and an error's request id against the header.
 *
 * @param sent is called with each body that is sent as text
 */
export function createApiClient(
  url: string,
  headers: Record<string, string>,
  sent: (body: string) => void = () => undefined,
): ApiClient {
  async function raw<Body>({ method, path, headers: extra = {}, body }: RawRequest): Promise<Answer<Body>> {
    if (typeof body === 'string') sent(body);
    const response = await request(`${url}${path}`, {
      method,
      headers: { ...headers, ...extra },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.body.text();
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    checkResponse({ method, path, status: response.statusCode, body: parsed });
    if (response.statusCode >= 400) checkRequestId(parsed as ErrorBody, response.headers['x-request-id']);
    return { status: response.statusCode, headers: response.headers, body: parsed as Body };
  }

  const send = <Body>(method: Method, path: string, body: unknown): Promise<Answer<Body>> =>
    raw({
      method,
      path,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });

  async function call<Body>(method: Method, path: string, body: unknown, expected: number): Promise<Answer<Body>> {
    const answer = await send<Body>(method, path, body);
    if (answer.status !== expected) {
      throw new Error(
        `${method} ${path} returned ${answer.status} instead of ${expected}: ${JSON.stringify(answer.body)}`,
      );
    }
    return answer;
  }

  return {
    headers,
    raw,
    get: (path, expected = 200) => call('GET', path, undefined, expected),
    post: (path, body, expected) => call('POST', path, body, expected),
    patch: (path, body, expected) => call('PATCH', path, body, expected),
    delete: (path, body, expected) => call('DELETE', path, body, expected),
    async refusal(method, path, body) {
      const answer = await send<ErrorBody>(method, path, body);
      if (answer.status >= 400) return answer.body.code;
      throw new Error(`${method} ${path} was not rejected: ${answer.status} ${JSON.stringify(answer.body)}`);
    },
    with: (more) => createApiClient(url, { ...headers, ...more }, sent),
  };
}

function checkRequestId({ extra }: ErrorBody, header: string | string[] | undefined): void {
  if (extra?.request_id === undefined || extra.request_id === '' || extra.request_id !== header) {
    throw new Error(`the error has request id ${extra?.request_id}, but X-Request-Id is ${header}`);
  }
}

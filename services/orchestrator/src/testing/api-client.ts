import { checkResponse } from '@uswarm/contract/checks';
import { request } from 'undici';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: AnswerBody;
}

/** Any JSON, read as what the test asked for: the contract has checked its form already. */
export interface AnswerBody {
  [key: string]: AnswerBody & AnswerBody[] & string & number & boolean;
}

export interface RawRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface ApiClient {
  /** The request as given, besides the client's own headers. */
  raw(request: RawRequest): Promise<Answer>;
  get(path: string, expected?: number): Promise<Answer>;
  post(path: string, body?: unknown, expected?: number): Promise<Answer>;
  patch(path: string, body?: unknown, expected?: number): Promise<Answer>;
  delete(path: string, body?: unknown, expected?: number): Promise<Answer>;
  with(headers: Record<string, string>): ApiClient;
}

/** A client whose every answer is checked against the contract. */
export function createApiClient(url: string, headers: Record<string, string>): ApiClient {
  async function raw({ method, path, headers: extra = {}, body }: RawRequest): Promise<Answer> {
    const response = await request(`${url}${path}`, {
      method,
      headers: { ...headers, ...extra },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.body.text();
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    checkResponse({ method, path, status: response.statusCode, body: parsed });
    return { status: response.statusCode, headers: response.headers, body: parsed as AnswerBody };
  }

  async function call(method: RawRequest['method'], path: string, body: unknown, expected?: number): Promise<Answer> {
    const answer = await raw({
      method,
      path,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (expected !== undefined && answer.status !== expected) {
      throw new Error(`${method} ${path} answered ${answer.status}, not ${expected}: ${JSON.stringify(answer.body)}`);
    }
    return answer;
  }

  return {
    raw,
    get: (path, expected) => call('GET', path, undefined, expected),
    post: (path, body, expected) => call('POST', path, body, expected),
    patch: (path, body, expected) => call('PATCH', path, body, expected),
    delete: (path, body, expected) => call('DELETE', path, body, expected),
    with: (more) => createApiClient(url, { ...headers, ...more }),
  };
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createGoogleCalendar, type GoogleCalendar } from './calendar.js';
import { BadRequest, type DescribedRequest, readDescription } from './discovery.js';
import { createMailbox, type Mailbox } from './mailbox.js';

/**
 * Faults. `refuse`: an error before the request is executed. `lose-request`: the connection breaks before it is
 * executed. `lose-answer`: it breaks afterwards. `hang`: it is executed, and there is no answer until `release`.
 * `stall`: it is not executed, and the connection breaks at `release`. `page`: a proxy answers with a page, and the
 * request is not executed.
 */
export type GoogleFault =
  | { kind: 'refuse'; status: number; reason: string }
  | { kind: 'page'; status: number }
  | { kind: 'lose-request' | 'lose-answer' | 'hang' | 'stall' };

export interface GoogleServerOptions {
  /** True for a valid access token. Default: every token is. */
  accepts?: (token: string) => Promise<boolean>;
  /** Account id by token. Default: all tokens belong to one account. */
  accountOf?: (token: string) => Promise<string>;
}

/** The calendar and the mailbox of one user. */
export interface GoogleAccount {
  calendar: GoogleCalendar;
  mailbox: Mailbox;
  /** The method of each request with a valid token, in order, for example `calendar.events.insert`. */
  requests: readonly string[];
  /** Fault for the next request to this method. */
  failNext(method: string, fault: GoogleFault): void;
  /** Changes all further answers to this method. */
  alter(method: string, change: (answer: unknown) => unknown): void;
  /** Resolves when a request with this fault has arrived and, unless it is refused or lost, was executed. */
  faulted(method: string): Promise<void>;
  /** Answers requests that hang, and loses requests that stall. */
  release(): void;
}

export interface GoogleServer extends GoogleAccount {
  /** The base URL of both APIs, without a slash at the end. */
  url: string;
  /** The account with this id, which is created if it does not exist. */
  account(id: string): GoogleAccount;
  close(): Promise<void>;
}

function sendError(response: ServerResponse, { status, reason, message }: BadRequest): void {
  const error = { code: status, message, errors: [{ domain: 'global', reason, message }] };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}

const parseBody = (body: string): unknown => {
  try {
    return body === '' ? undefined : JSON.parse(body);
  } catch {
    throw new BadRequest(400, 'parseError', 'Parse Error');
  }
};

/** An account, with what the server needs to answer its requests. */
interface ServedAccount extends GoogleAccount {
  /** Answers a request; undefined if the connection breaks instead. @throws BadRequest */
  answer(
    request: DescribedRequest,
    ifMatch: string | undefined,
  ): Promise<{ body: unknown } | { pageStatus: number } | undefined>;
}

function createAccount(): ServedAccount {
  const calendar = createGoogleCalendar();
  const mailbox = createMailbox('ada@example.com');
  const requests: string[] = [];
  const faults = new Map<string, GoogleFault>();
  const changes = new Map<string, (answer: unknown) => unknown>();
  const reached = new Map<string, PromiseWithResolvers<void>>();
  let released = Promise.withResolvers<void>();
  const reachedFault = (method: string): PromiseWithResolvers<void> => {
    const known = reached.get(method) ?? Promise.withResolvers<void>();
    reached.set(method, known);
    return known;
  };
  return {
    calendar,
    mailbox,
    requests,
    failNext(method, fault) {
      faults.set(method, fault);
      reached.delete(method);
    },
    alter: (method, change) => void changes.set(method, change),
    release() {
      released.resolve();
      released = Promise.withResolvers();
    },
    faulted: (method) => reachedFault(method).promise,
    async answer(request, ifMatch) {
      const { method } = request;
      requests.push(method);
      const fault = faults.get(method);
      faults.delete(method);
      if (fault?.kind === 'refuse') {
        reachedFault(method).resolve();
        throw new BadRequest(fault.status, fault.reason, 'The request failed.');
      }
      if (fault?.kind === 'page') {
        reachedFault(method).resolve();
        return { pageStatus: fault.status };
      }
      if (fault?.kind === 'lose-request' || fault?.kind === 'stall') {
        reachedFault(method).resolve();
        if (fault.kind === 'stall') await released.promise;
        return undefined;
      }
      const body = method.startsWith('calendar.') ? calendar.handle(request, ifMatch) : await mailbox.handle(request);
      if (fault !== undefined) reachedFault(method).resolve();
      if (fault?.kind === 'lose-answer') return undefined;
      if (fault?.kind === 'hang') await released.promise;
      return { body: (changes.get(method) ?? ((answer: unknown) => answer))(body) };
    },
  };
}

const ONLY_ACCOUNT = 'only';

/**
 * Starts a server with Google's Calendar and Gmail APIs for one user, or for several with `accountOf`. Requests must match the API
 * descriptions that Google publishes.
 */
export async function startGoogleServer({ accepts, accountOf }: GoogleServerOptions = {}): Promise<GoogleServer> {
  const descriptions = [readDescription('calendar-v3.json'), readDescription('gmail-v1.json')];
  const accounts = new Map<string, ServedAccount>();
  function account(id: string): ServedAccount {
    const known = accounts.get(id) ?? createAccount();
    accounts.set(id, known);
    return known;
  }

  async function described(incoming: IncomingMessage): Promise<{ request: DescribedRequest; of: ServedAccount }> {
    const token = /^Bearer (\S+)$/.exec(incoming.headers.authorization ?? '')?.[1];
    const body = await text(incoming);
    if (token === undefined || !((await accepts?.(token)) ?? true))
      throw new BadRequest(401, 'authError', 'Invalid Credentials');
    const url = new URL(incoming.url ?? '', 'http://localhost');
    for (const description of descriptions) {
      const request = description.match(incoming.method ?? '', url, parseBody(body));
      if (request !== undefined) return { request, of: account((await accountOf?.(token)) ?? ONLY_ACCOUNT) };
    }
    throw new BadRequest(404, 'notFound', 'Not Found');
  }

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { request, of } = await described(incoming);
    const answer = await of.answer(request, incoming.headers['if-match']);
    if (answer === undefined) return void response.destroy();
    if ('pageStatus' in answer) {
      response.writeHead(answer.pageStatus, { 'content-type': 'text/html', location: 'http://portal.example.com/' });
      return void response.end('<html><title>Sign in to the network</title></html>');
    }
    if (answer.body === undefined) return void response.writeHead(204).end();
    response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' }).end(JSON.stringify(answer.body));
  }

  const server = createServer((incoming, response) => {
    respond(incoming, response).catch((error: unknown) => {
      if (error instanceof BadRequest) sendError(response, error);
      else response.destroy();
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    ...account(ONLY_ACCOUNT),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    account,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fromJson, type JsonValue, toJson } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { AdvanceRequestSchema, AgentRuntime, RunTurnRequestSchema, TurnEventSchema } from '@uswarm/runtime-proto';

/**
 * A runtime that has no model and obeys no rule: it follows a test's commands on a local connection, and reports all
 * that it receives. `USWARM_HOSTILE_CONTROL` is the test's port. Node runs this file as it is, so it imports no other
 * source.
 */
type Order =
  | { order: 'emit'; event: Record<string, JsonValue> }
  | {
      order: 'fetch';
      id: number;
      url: string;
      method: string;
      headers: Record<string, string>;
      body?: string;
    };

const { USWARM_WORKSPACE_ID: workspaceId = '', USWARM_HOSTILE_CONTROL: controlPort = '' } = process.env;
const control = connect(Number(controlPort), '127.0.0.1');
control.once('close', () => process.exit());
const tell = (told: object): void => void control.write(`${JSON.stringify(told)}\n`);

/** Events on the latest stream. */
let latest: JsonValue[] = [];
let changed = Promise.withResolvers<void>();
const wake = (): void => {
  changed.resolve();
  changed = Promise.withResolvers();
};

async function send({ id, url, method, headers, body }: Extract<Order, { order: 'fetch' }>): Promise<void> {
  try {
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
    tell({ got: 'response', id, status: response.status, text: await response.text() });
  } catch (error) {
    tell({ got: 'response', id, status: 0, text: String(error) });
  }
}

createInterface({ input: control }).on('line', (line) => {
  const order = JSON.parse(line) as Order;
  if (order.order === 'emit') latest.push(order.event);
  if (order.order === 'fetch') void send(order);
  wake();
});

const identity = {
  workspaceId,
  version: '0',
  instanceId: crypto.randomUUID(),
  features: ['journal.1', 'journal.2', 'tools.1', 'tool-grants.1', 'model-token.1', 'retract.1'],
};

const server = createServer(
  connectNodeAdapter({
    readMaxBytes: 32 * 1024 * 1024,
    writeMaxBytes: 32 * 1024 * 1024,
    routes: (router) =>
      router.service(AgentRuntime, {
        identify: () => identity,
        async *runTurn(request, { requestHeader, signal }) {
          const events: JsonValue[] = [];
          let number = request.fromEvent;
          latest = events;
          wake();
          tell({
            got: 'turn',
            request: toJson(RunTurnRequestSchema, request),
            callToken: requestHeader.get('authorization'),
          });
          while (!signal.aborted && latest === events) {
            const waiting = changed.promise;
            const [event] = events.splice(0, 1);
            if (event !== undefined)
              yield fromJson(TurnEventSchema, { ...(event as object), number: String((number += 1n)) });
            else await Promise.race([waiting, new Promise((resolve) => signal.addEventListener('abort', resolve))]);
          }
        },
        async *advance(requests) {
          for await (const request of requests) {
            tell({ got: 'advance', request: toJson(AdvanceRequestSchema, request) });
            yield {};
          }
        },
        stopTurn: () => (tell({ got: 'stop' }), {}),
        renewToolToken: ({ toolToken, modelToken }) => (tell({ got: 'renew', toolToken, modelToken }), {}),
        summarize() {
          throw new ConnectError('no', Code.Unimplemented);
        },
        status: () => ({ busy: false, idleMs: 0n }),
      }),
  }),
);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  tell({ got: 'hello', workspaceId });
  process.stdout.write(`${JSON.stringify({ event: 'listening', port })}\n`);
});

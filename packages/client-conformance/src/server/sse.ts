import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { failureAnswer, type ServerEvent } from './checks.js';
import type { Connection } from './connection.js';
import type { ScriptedServer } from './scripted-server.js';
import type { SseFormat } from './sse-format.js';

export function serveSse(server: ScriptedServer): (request: IncomingMessage, response: ServerResponse) => void {
  const format = server.sse;

  function respond(request: IncomingMessage, response: ServerResponse): void {
    const query = new URL(request.url ?? '', 'http://localhost').searchParams;
    const token = header(request, 'x-token') ?? header(request, 'authorization')?.replace(/^Bearer +/i, '');
    const resumeToken = header(request, 'x-resume-token');
    server.connected('sse', token ?? '', resumeToken);
    const refusal = server.plannedFailure('connect') ?? server.refusal(token, resumeToken);
    if (refusal !== undefined) {
      const failure = refusal === 'transient' ? { code: 'service_unavailable' as const, retryAfterMs: 1_000 } : refusal;
      const { status, body, headers } = failureAnswer(failure);
      return void response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(body));
    }
    const { workspaceId } = server.world;
    if (!query.getAll('workspace_id').includes(workspaceId)) {
      server.seen.violations.push('The client did not ask for the events of the workspace');
    }
    open(request, response, { resumed: resumeToken !== undefined, ...beginOf(request, query, workspaceId) });
  }

  function open(request: IncomingMessage, response: ServerResponse, begin: Begin): void {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    response.socket?.setNoDelay(true);
    const writer = createWriter(response, format);
    const connection: Connection = {
      transport: 'sse',
      subscribed: false,
      emit(event, seq) {
        writer.event(event, seq === undefined ? undefined : cursorOf(`${server.world.epoch}:${seq}`));
        if (format.cutWithin === event.name) {
          format.cutWithin = undefined;
          void writer.flushed().then(() => connection.cut());
        }
      },
      cut() {
        server.left(connection);
        response.destroy();
      },
      close: () => void writer.flushed().then(() => response.end()),
      freeze() {
        connection.subscribed = false;
        server.left(connection);
        writer.stop();
      },
    };
    request.on('close', () => server.left(connection));
    writer.begin();
    server.admit(connection, begin.resumed);
    server.subscribe(connection, begin.since, begin.by);
  }

  return respond;
}

interface Begin {
  resumed: boolean;
  since: string | undefined;
  by: 'cursor' | 'since' | undefined;
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Opaque for clients: they must not build one. */
const cursorOf = (position: string): string => Buffer.from(`c:${position}`).toString('base64url');

function beginOf(request: IncomingMessage, query: URLSearchParams, workspaceId: string): Omit<Begin, 'resumed'> {
  const cursor = header(request, 'last-event-id');
  if (cursor !== undefined && cursor !== '') {
    return { since: Buffer.from(cursor, 'base64url').toString().slice(2), by: 'cursor' };
  }
  const since = query.getAll('since').find((each) => each.startsWith(`${workspaceId}@`));
  return since === undefined
    ? { since: undefined, by: undefined }
    : { since: since.slice(workspaceId.length + 1), by: 'since' };
}

/** Writes events one after the other, so that slow ones do not mix. */
function createWriter(response: ServerResponse, format: SseFormat) {
  let done = Promise.resolve();
  let isStopped = false;
  const write = (bytes: Buffer) => {
    done = done.then(() => send(bytes));
  };
  async function send(bytes: Buffer): Promise<void> {
    if (isStopped || response.destroyed) return;
    if (!format.byteByByte) return void response.write(bytes);
    for (const byte of bytes) {
      if (isStopped || response.destroyed) return;
      response.write(Buffer.of(byte));
      // Within a character, long enough that the client reads what it has.
      await (byte >= 0x80 ? sleep(40) : new Promise(setImmediate));
    }
  }
  const lines = (...parts: string[]) => Buffer.from(parts.map((line) => line + format.lineEnd).join(''));
  return {
    begin() {
      write(Buffer.concat([Buffer.from(format.bom ? '\uFEFF' : ''), lines(`retry: ${format.retryMs}`, '')]));
    },
    event({ name, payload }: ServerEvent, id: string | undefined) {
      const data = format.multiLine ? JSON.stringify(payload, null, 1).split('\n') : [JSON.stringify(payload)];
      const comment = format.comments ? [': still here'] : [];
      const bytes = lines(
        ...comment,
        `event: ${name}`,
        ...comment,
        ...(id === undefined ? [] : [`id: ${id}`]),
        ...data.map((line) => `data: ${line}`),
        '',
      );
      write(format.cutWithin === name ? bytes.subarray(0, Math.floor(bytes.length * 0.7)) : bytes);
    },
    /** Resolves when everything was handed to the network. */
    flushed(): Promise<void> {
      done = done.then(() => new Promise<void>((resolve) => setImmediate(resolve)));
      return done;
    },
    stop: () => void (isStopped = true),
  };
}

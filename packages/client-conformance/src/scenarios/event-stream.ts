import type { Scenario } from '../scenario.js';
import type { SseFormat } from '../server/sse-format.js';

const STANDARD = 'The standard of server-sent events allows it, and proxies do it.';

/** A stream in another allowed format. */
function format(name: string, what: string, change: Partial<SseFormat>): Scenario {
  return {
    name,
    only: 'sse',
    shows: `Events are understood ${what}.`,
    why: STANDARD,
    async run(stage) {
      Object.assign(stage.server.sse, change);
      stage.world.before('Grüße');
      await stage.start();
      const reply = stage.world.begin();
      stage.world.chunk(reply, 'Tee 🍵\n\ndata: x');
      await stage.shows({ messages: ['Grüße', 'Tee 🍵\n\ndata: x'] });
      stage.world.finish(reply, 'Tee 🍵 für zwei');
      await stage.settles('Grüße', 'Tee 🍵 für zwei');
    },
  };
}

/** How events are written over server-sent events. */
export const EVENT_STREAM: readonly Scenario[] = [
  format('sse-comments', 'with comment lines before and within them', { comments: true }),
  format('sse-split', 'if each byte arrives alone, also within a character of several bytes', { byteByByte: true }),
  format('sse-crlf', 'with lines that end with CR LF, also if the two arrive one by one', {
    lineEnd: '\r\n',
    byteByByte: true,
  }),
  format('sse-multi-line', 'with data in several lines', { multiLine: true }),
  retry('sse-retry', 'The service spreads reconnects with it.', {}),
  retry('sse-bom', 'A byte order mark at the beginning belongs to no line: the first one is this field.', {
    bom: true,
  }),
];

function retry(name: string, why: string, change: Partial<SseFormat>): Scenario {
  return {
    name,
    only: 'sse',
    shows: `After a lost connection the client waits for the time of the \`retry\` field${change.bom === true ? ' behind a byte order mark' : ''}.`,
    why,
    async run(stage) {
      Object.assign(stage.server.sse, { retryMs: 1_500, ...change });
      await stage.start();
      const at = performance.now();
      await stage.reconnects();
      const waited = (stage.seen('connect').at(-1)?.at ?? 0) - at;
      stage.require('The client connected too early, after ms', waited >= 1_450, waited);
    },
  };
}

import { frameLength } from '@uswarm/testkit/resp';

/** Is called with each message: its bytes on the network, and its content. */
type Seen = (size: number, text: string) => void;

const END_OF_HEAD = '\r\n\r\n';
/** WebSocket frame lengths: up to 125 in 7 bits; 126 and 127 announce a longer field. */
const LENGTH_BITS = 0x7f;
const TWO_BYTES = 126;

/** Splits what a client sends to Valkey into commands. */
export function createCommandSplitter(seen: Seen): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (let length = frameLength(rest); length !== undefined; length = frameLength(rest)) {
      seen(length, rest.toString('utf8', 0, length));
      rest = rest.subarray(length);
    }
  };
}

/** A server's first WebSocket frame; undefined if it is incomplete. */
function frameOf(data: Buffer): { head: number; length: number } | undefined {
  const code = (data[1] ?? 0) & LENGTH_BITS;
  const head = code < TWO_BYTES ? 2 : code === TWO_BYTES ? 4 : 10;
  if (data.length < head) return undefined;
  const content = head === 2 ? code : head === 4 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2));
  return data.length < head + content ? undefined : { head, length: head + content };
}

/** Splits what a server sends to a WebSocket into frames, after the response that accepts it. */
export function createFrameSplitter(seen: Seen): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let isOpen = false;
  return (data) => {
    rest = Buffer.concat([rest, data]);
    if (!isOpen) {
      const end = rest.indexOf(END_OF_HEAD);
      if (end === -1) return;
      isOpen = true;
      rest = rest.subarray(end + END_OF_HEAD.length);
    }
    for (let frame = frameOf(rest); frame !== undefined; frame = frameOf(rest)) {
      seen(frame.length, rest.toString('utf8', frame.head, frame.length));
      rest = rest.subarray(frame.length);
    }
  };
}

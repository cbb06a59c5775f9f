import { connect } from 'node:net';

export interface SlowRequest {
  method: string;
  /** URL without a query. */
  url: string;
  headers: Record<string, string>;
  /** The beginning of a body of 1,000 bytes, whose rest never arrives. */
  start: string;
}

/** Sends a request whose body stands still. @returns the response and that the server closed the connection */
export async function sendSlowBody({ method, url, headers, start }: SlowRequest) {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const lines = { host: hostname, 'content-type': 'application/json', 'content-length': '1000', ...headers };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${pathname} HTTP/1.1\r\n${head.join('')}\r\n${start}`);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  await new Promise((resolve) => void socket.once('close', resolve));
  const [headText = '', body = ''] = text.split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(headText)?.[1]), head: headText.toLowerCase(), body };
}

// PORT          CONNECT to any host and port (3128)
// CONTROL_PORT  GET /targets: a list of the requested "host:port", oldest first (8081)
import { createServer } from 'node:http';
import { connect } from 'node:net';

const { CONTROL_PORT = '8081', PORT = '3128' } = process.env;
const targets = [];

const proxy = createServer((_request, response) => response.writeHead(405).end());
proxy.on('connect', ({ url }, socket, head) => {
  targets.push(url);
  const { hostname, port } = new URL(`http://${url}`);
  const onward = connect({ host: hostname, port: Number(port || '80') }, () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    onward.write(head);
    socket.pipe(onward).pipe(socket);
  });
  onward.on('error', () => {
    if (onward.connecting) socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    else socket.destroy();
  });
  socket.on('error', () => onward.destroy());
});
proxy.listen(Number(PORT), () => console.log(JSON.stringify({ event: 'listening', port: Number(PORT) })));

const control = createServer((request, response) => {
  if (request.method !== 'GET' || request.url !== '/targets') return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'application/json' });
  return response.end(JSON.stringify(targets));
});
control.listen(Number(CONTROL_PORT));
process.once('SIGTERM', () => process.exit(0));

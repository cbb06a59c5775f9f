import { createServer } from 'node:http';

// A minimal Node.js server: the floor.
const server = createServer((_request, response) => void response.end());
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ event: 'listening' })}\n`));
process.once('SIGTERM', () => process.exit(0));

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@redis/client';
import { Server } from 'socket.io';
import { type WebSocket, WebSocketServer } from 'ws';

// Bare servers without tokens, order or replay: `peers-main.js socket.io|ws <url of Valkey>`. Each socket joins rooms; what
// arrives on the channel `peers` goes to its room.

const [, , kind, redisUrl = ''] = process.argv;
type Send = (room: string, event: string, payload: unknown) => void;

const http = createServer();

function serveSocketIo(): Send {
  const io = new Server(http, { transports: ['websocket'], serveClient: false });
  io.on('connection', (socket) => {
    socket.on('subscribe', (rooms: string[], done: () => void) => {
      void socket.join(rooms);
      done();
    });
  });
  return (room, event, payload) => void io.to(room).emit(event, payload);
}

function serveWs(): Send {
  const rooms = new Map<string, Set<WebSocket>>();
  new WebSocketServer({ server: http }).on('connection', (socket) => {
    socket.once('message', (data: Buffer) => {
      for (const room of JSON.parse(data.toString()) as string[]) {
        rooms.set(room, (rooms.get(room) ?? new Set()).add(socket));
      }
      socket.send('[]');
    });
  });
  return (room, event, payload) => {
    const text = JSON.stringify([event, payload]);
    for (const socket of rooms.get(room) ?? []) socket.send(text);
  };
}

const send = kind === 'ws' ? serveWs() : serveSocketIo();
const redis = createClient({ url: redisUrl });
await redis.connect();
await redis.subscribe('peers', (text) => {
  const { room, event, payload } = JSON.parse(text) as { room: string; event: string; payload: unknown };
  send(room, event, payload);
});
http.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  process.send?.({ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` });
});
process.once('disconnect', () => process.exit(0));
process.once('SIGTERM', () => process.exit(0));

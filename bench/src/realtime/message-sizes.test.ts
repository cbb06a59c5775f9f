import { expect, it } from '@jest/globals';
import { createCommandSplitter, createFrameSplitter } from './message-sizes.js';

function collect(create: typeof createFrameSplitter, data: Buffer, part: number): [number, string][] {
  const seen: [number, string][] = [];
  const push = create((size, text) => seen.push([size, text]));
  for (let at = 0; at < data.length; at += part) push(data.subarray(at, at + part));
  return seen;
}

it.each([1, 7, 1_000])('splits the frames of a WebSocket that arrive in parts of %i bytes', (part) => {
  const long = 'x'.repeat(300);
  const data = Buffer.concat([
    Buffer.from('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    Buffer.from([0x81, 2]),
    Buffer.from('40'),
    Buffer.from([0x81, 126, 1, 44]),
    Buffer.from(long),
  ]);
  expect(collect(createFrameSplitter, data, part)).toEqual([
    [4, '40'],
    [304, long],
  ]);
});

it.each([1, 5, 1_000])('splits the commands to Valkey that arrive in parts of %i bytes', (part) => {
  const commands = ['*1\r\n$4\r\nPING\r\n', '*2\r\n$8\r\nSPUBLISH\r\n$1\r\na\r\n'];
  const seen = collect(createCommandSplitter, Buffer.from(commands.join('')), part);
  expect(seen).toEqual(commands.map((command) => [command.length, command]));
});

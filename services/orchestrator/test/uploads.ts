import { checkResponse } from '@uswarm/contract/checks';
import type { Attachment, ErrorBody, ErrorCode } from '@uswarm/contract';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { request } from 'undici';
import type { ApiClient } from './api-client.js';

export const UPLOADS = '/v1/uploads';

/** The first bytes of a PNG file; only these are inspected. */
export const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex');

export interface TestFile {
  content: string | Buffer;
  name?: string;
  type?: string;
  part?: string;
}

interface Form {
  headers: Record<string, string>;
  body: Buffer;
}

export async function formOf(...files: TestFile[]): Promise<Form> {
  const form = new FormData();
  for (const { content, name = 'file.bin', type = '', part = 'file' } of files) {
    form.append(part, new Blob([new Uint8Array(Buffer.from(content))], { type }), name);
  }
  const response = new Response(form);
  const headers = { 'content-type': response.headers.get('content-type') ?? '' };
  return { headers, body: Buffer.from(await response.arrayBuffer()) };
}

/** @throws Error if the upload is rejected */
export async function upload(user: ApiClient, file: TestFile): Promise<Attachment> {
  const form = await formOf(file);
  const answer = await user.raw<{ data: Attachment }>({ method: 'POST', path: UPLOADS, ...form });
  if (answer.status !== 201) throw new Error(`the upload was rejected: ${JSON.stringify(answer.body)}`);
  return answer.body.data;
}

/** @returns the error code @throws Error if the upload succeeds */
export async function uploadRefusal(user: ApiClient, form: Form): Promise<ErrorCode> {
  const { status, body } = await user.raw<ErrorBody>({ method: 'POST', path: UPLOADS, ...form });
  if (status < 400) throw new Error('the upload was not rejected');
  return body.code;
}

export interface Downloaded {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

/** Requests a link without credentials and checks the response against the contract. */
export async function download(
  base: string,
  link: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
): Promise<Downloaded> {
  const answer = await request(new URL(link, base), { method, headers });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  if (method === 'GET') {
    const body: unknown = answer.statusCode < 400 ? new Uint8Array(bytes) : JSON.parse(bytes.toString());
    checkResponse({ method, path: new URL(link, base).pathname, status: answer.statusCode, body });
  }
  return { status: answer.statusCode, headers: answer.headers, bytes };
}

/** @returns the error code @throws Error if the download succeeds */
export async function linkRefusal(base: string, link: string, headers?: Record<string, string>): Promise<ErrorCode> {
  const { status, bytes } = await download(base, link, headers);
  if (status < 400) throw new Error('the link was not rejected');
  return (JSON.parse(bytes.toString()) as ErrorBody).code;
}

/** The test controls an upload in progress. */
export interface BegunUpload {
  send(bytes: Buffer): Promise<void>;
  end(): Promise<void>;
  answered(): string | undefined;
  breakOff(): void;
}

/** Uploads a file of unknown length on a separate connection. */
export async function beginUpload(base: string, user: ApiClient): Promise<BegunUpload> {
  const { hostname, port } = new URL(base);
  const socket: Socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const headers = {
    ...user.headers,
    host: hostname,
    'content-type': 'multipart/form-data; boundary=x',
    'transfer-encoding': 'chunked',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${UPLOADS} HTTP/1.1\r\n${lines.join('')}\r\n`);
  let answer: string | undefined;
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer = (answer ?? '') + text;
  });
  const send = async (bytes: Buffer): Promise<void> => {
    socket.write(`${bytes.length.toString(16)}\r\n`);
    socket.write(bytes);
    await new Promise((written) => socket.write('\r\n', written));
  };
  await send(Buffer.from('--x\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\nbegun'));
  const end = async (): Promise<void> => {
    await send(Buffer.from('\r\n--x--\r\n'));
    await new Promise((written) => socket.write('0\r\n\r\n', written));
  };
  return { send, end, answered: () => answer, breakOff: () => void socket.destroy() };
}

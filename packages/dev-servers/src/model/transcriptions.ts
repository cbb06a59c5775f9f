import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { ScriptedError } from './model-script.js';
import { sendOpenAiError } from './openai-protocol.js';

/** An accepted `POST …/audio/transcriptions`. */
export interface ReceivedTranscription {
  model: string;
  file: { name: string; type: string; bytes: Uint8Array };
  /** All text fields. */
  fields: Readonly<Record<string, string>>;
  authorization: string | undefined;
}

export type TranscriptionAnswer =
  /** Responds as OpenAI does; `usage` is sent unchanged. */
  | { text: string; usage?: object }
  /** Responds with this body. */
  | { status?: number; body: string; type?: string }
  | { error: ScriptedError }
  /** Sends the head and half of the body, and closes the connection. */
  | { cut: string }
  /** Keeps the connection open and sends nothing. */
  | { hang: true };

/** `index` is the number of earlier requests. */
export type TranscriptionScript = (
  request: ReceivedTranscription,
  index: number,
) => TranscriptionAnswer | Promise<TranscriptionAnswer>;

const FORMATS = ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm'];
const MAX_BYTES = 25 * 1024 * 1024;
/** The first bytes by format. Real servers decode the whole file. */
const BEGINNINGS: readonly [RegExp, RegExp][] = [
  [/^flac$/, /^fLaC/],
  [/^(?:m4a|mp4)$/, /^.{4}ftyp/s],
  [/^(?:mp3|mpeg|mpga)$/, /^(?:ID3|\xff[\xe0-\xff])/],
  [/^og[ag]$/, /^OggS/],
  [/^wav$/, /^RIFF.{4}WAVE/s],
  [/^webm$/, /^\x1a\x45\xdf\xa3/],
];

const invalid = (message: string): ScriptedError => ({ status: 400, type: 'invalid_request_error', message });

async function formOf(request: IncomingMessage): Promise<FormData | undefined> {
  const bytes = await buffer(request);
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  return new Response(new Uint8Array(bytes), { headers }).formData().catch(() => undefined);
}

/** Refuses what OpenAI's server refuses. @returns the request, or the error */
export async function readTranscription(request: IncomingMessage): Promise<ReceivedTranscription | ScriptedError> {
  const form = await formOf(request);
  if (form === undefined) return invalid('Could not parse multipart form');
  const entries = [...form.entries()];
  const fields = Object.fromEntries(
    entries.flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
  const file = form.get('file');
  if (!(file instanceof File))
    return invalid("[{'type': 'missing', 'loc': ('body', 'file'), 'msg': 'Field required'}]");
  const { model = '', response_format: format = 'json' } = fields;
  if (model === '') return invalid('you must provide a model parameter');
  if (!['json', 'text', 'srt', 'verbose_json', 'vtt'].includes(format)) return invalid('invalid response_format');
  if (file.size > MAX_BYTES) {
    const message = `Maximum content size limit (${MAX_BYTES}) exceeded (${file.size} bytes read)`;
    return { status: 413, type: 'server_error', message };
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const extension = extname(file.name).slice(1);
  if (!FORMATS.includes(extension)) {
    return invalid(`Unrecognized file format. Supported formats: ['${FORMATS.join("', '")}']`);
  }
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  if (!BEGINNINGS.some(([name, begins]) => name.test(extension) && begins.test(head))) {
    return invalid('The audio file could not be decoded or its format is not supported.');
  }
  const { authorization } = request.headers;
  return { model, file: { name: file.name, type: file.type, bytes }, fields, authorization };
}

export function sendTranscription(answer: TranscriptionAnswer, response: ServerResponse): void {
  const json = { 'content-type': 'application/json' };
  if ('hang' in answer) return;
  if ('error' in answer) sendOpenAiError(response, answer.error);
  else if ('cut' in answer) {
    response.writeHead(200, { ...json, 'content-length': 2 * answer.cut.length });
    response.write(answer.cut, () => response.destroy());
  } else if ('body' in answer) {
    response.writeHead(answer.status ?? 200, { 'content-type': answer.type ?? 'application/json' }).end(answer.body);
  } else response.writeHead(200, json).end(JSON.stringify(answer));
}

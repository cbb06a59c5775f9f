import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { requirePython } from '@uswarm/dev-servers';
import { cachedBuild } from './java/cached-build.js';
import { compileKotlin, kotlinProgram } from './java/client-generator.js';
import { JAVA_OPTIONS } from './java/java.js';

const PAGE = join(import.meta.dirname, '../../../docs/native-clients.md');
const MAIN = join(import.meta.dirname, '../kotlin/PrintStream.kt');

export interface DocumentedStreamOptions {
  language: 'kotlin' | 'python';
  url: string;
  workspaceId: string;
  token: string;
  onEvent: (event: string, payload: unknown) => void;
}

export interface DocumentedStream {
  /** Resolves with the exit code when the function has returned. */
  ended: Promise<number | null>;
  close(): Promise<void>;
}

/** Runs the client of `/v1/stream` in docs/native-clients.md. */
export async function startDocumentedStream(options: DocumentedStreamOptions): Promise<DocumentedStream> {
  const { language, url, workspaceId, token, onEvent } = options;
  const source = await documentedCode(language);
  const start = language === 'kotlin' ? startKotlin : startPython;
  const child = await start(source, [url, workspaceId, token]);
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [event = '', data = ''] = line.split('\t');
    onEvent(event, JSON.parse(data));
  });
  return {
    ended,
    async close() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

type Printing = ChildProcessByStdio<null, Readable, null>;

/** The first block in this language. */
async function documentedCode(language: string): Promise<string> {
  const page = await readFile(PAGE, 'utf8');
  const [, code] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? [];
  if (code === undefined) throw new Error(`docs/native-clients.md has no ${language}`);
  return code;
}

function run(program: string, args: readonly string[]): Printing {
  return spawn(program, args, { env: { PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'inherit'] });
}

async function startKotlin(source: string, args: readonly string[]): Promise<Printing> {
  const inputs = [source, await readFile(MAIN, 'utf8')];
  const classes = await cachedBuild('kotlin-stream', inputs, async (target) => {
    const folder = await mkdtemp(join(tmpdir(), 'uswarm-stream-'));
    const file = join(folder, 'Stream.kt');
    await writeFile(file, source);
    await compileKotlin({ sources: [file, MAIN], target });
    await rm(folder, { recursive: true });
  });
  return run('java', [...JAVA_OPTIONS, ...(await kotlinProgram(classes, 'PrintStreamKt')), ...args]);
}

const PYTHON_MAIN = `
import sys
stream(sys.argv[1], sys.argv[2], lambda: sys.argv[3], lambda event, data: print(event, json.dumps(data), sep="\\t", flush=True))
`;

async function startPython(source: string, args: readonly string[]): Promise<Printing> {
  const python = await requirePython({ title: 'The documented client of streams' });
  return run(python, ['-I', '-c', `${source}${PYTHON_MAIN}`, ...args]);
}

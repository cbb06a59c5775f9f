import variant from '@jitl/quickjs-singlefile-mjs-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  Scope,
} from 'quickjs-emscripten-core';
import { closeRealm } from './closed-realm.js';
import type { ResultError } from './protocol.js';
import type { Run, RunInput } from './run.js';

/** QuickJS uses V8's stack, which overflows at about the double. */
const STACK_BYTES = 128 * 1024;

const FILE_NAME = 'main.js';

/** Top-level `await` needs a module, which has no value. */
const MODULE = /^\s*(?:import|export)\b|\bawait\b/m;

/** The program's functions. It runs in QuickJS, where `host` has only functions that take and return plain values. */
const PRELUDE = `((host) => {
  const seen = () => { const known = new Set(); return (key, value) => {
    if (typeof value === 'bigint') return String(value);
    if (typeof value === 'function') return '[Function ' + (value.name || 'anonymous') + ']';
    if (value instanceof Map) return Object.fromEntries(value);
    if (value instanceof Set) return [...value];
    if (typeof value === 'object' && value !== null) { if (known.has(value)) return '[Circular]'; known.add(value); }
    return value;
  }; };
  const shown = (value) => {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return String(value) + '\\n' + value.stack;
    if (typeof value === 'object' && value !== null) return JSON.stringify(value, seen(), 1).replace(/\\n\\s*/g, ' ');
    return String(value);
  };
  const print = (...values) => host.write(values.map(shown).join(' ') + '\\n');
  globalThis.console = { log: print, info: print, debug: print, warn: print, error: print };
  globalThis.print = print;
  globalThis.listFiles = () => host.list();
  globalThis.readFile = (name) => host.readText(String(name));
  globalThis.readBytes = (name) => new Uint8Array(host.readBytes(String(name)));
  globalThis.writeFile = (name, data) => {
    if (typeof data === 'string') return host.writeText(String(name), data);
    const { buffer, byteOffset, byteLength } = ArrayBuffer.isView(data) ? data : new Uint8Array(data);
    return host.writeBytes(String(name), buffer.slice(byteOffset, byteOffset + byteLength));
  };
  return (value) => { if (value !== undefined) print(typeof value === 'string' ? JSON.stringify(value) : value); };
})`;

export async function prepareJavascript(): Promise<Run> {
  const quickjs = await newQuickJSWASMModuleFromVariant(variant);
  closeRealm({ modules: [] });
  return async (input) => {
    const runtime = quickjs.newRuntime();
    runtime.setMemoryLimit(input.memoryBytes);
    runtime.setMaxStackSize(STACK_BYTES);
    const context = runtime.newContext();
    const files = new Map(input.files);
    const error = await runIn(context, input, files).catch(failure);
    return { files, ...(error === undefined ? {} : { error }) };
  };
}

/** QuickJS itself failed. */
function failure(error: unknown): ResultError {
  if (error instanceof RangeError) return { reason: 'exception', message: 'RangeError: the code is nested too deeply' };
  return { reason: 'crash', message: 'The interpreter failed.' };
}

async function runIn(
  context: QuickJSContext,
  { code, write, maxFiles }: RunInput,
  files: Map<string, Uint8Array>,
): Promise<ResultError | undefined> {
  const { runtime } = context;
  const host = hostFunctions(context, { files, write, maxFiles });
  const showValue = context.unwrapResult(
    context.callFunction(context.unwrapResult(context.evalCode(PRELUDE, 'prelude.js')), context.undefined, host),
  );
  const isModule = MODULE.test(code);
  const result = context.evalCode(code, FILE_NAME, { type: isModule ? 'module' : 'global' });
  if (result.error !== undefined) return exception(context, result.error);
  const jobs = runtime.executePendingJobs();
  if (jobs.error !== undefined) return exception(context, jobs.error as QuickJSHandle);
  const state = context.getPromiseState(result.value);
  if (state.type === 'rejected') return exception(context, state.error);
  if (isModule) return undefined;
  const value = state.type === 'fulfilled' ? state.value : result.value;
  const shown = context.callFunction(showValue, context.undefined, value);
  return shown.error === undefined ? undefined : exception(context, shown.error);
}

function exception(context: QuickJSContext, thrown: QuickJSHandle): ResultError {
  const { name, message, stack } = readError(context, thrown);
  if (message === 'out of memory') return { reason: 'memory', message: 'The code needs too much memory.' };
  return { reason: 'exception', message: `${name}: ${message}\n${stack}`.trimEnd() };
}

function readError(context: QuickJSContext, thrown: QuickJSHandle) {
  return Scope.withScope((scope) => {
    const text = (key: string) => {
      const property = scope.manage(context.getProp(thrown, key));
      return context.typeof(property) === 'string' ? context.getString(property) : '';
    };
    if (context.typeof(thrown) !== 'object')
      return { name: 'Uncaught', message: String(context.dump(thrown)), stack: '' };
    return { name: text('name') || 'Error', message: text('message'), stack: text('stack') };
  });
}

interface HostState {
  files: Map<string, Uint8Array>;
  write: (text: string) => void;
  maxFiles: number;
}

/** They see copied strings and bytes, never the program's objects. */
function hostFunctions(context: QuickJSContext, { files, write, maxFiles }: HostState): QuickJSHandle {
  const host = context.newObject();
  const given = new Set(files.keys());
  const define = (name: string, run: (...values: QuickJSHandle[]) => QuickJSHandle) =>
    context.setProp(host, name, context.newFunction(name, run));
  const refuse = (message: string): never => {
    throw new Error(message);
  };
  const bytesOf = (name: string): Uint8Array =>
    files.get(name) ?? refuse(`There is no file ${name}. There are: ${[...files.keys()].join(', ') || 'none'}.`);
  const put = (name: string, bytes: Uint8Array): QuickJSHandle => {
    // One more than allowed shows that there were too many.
    if (!files.has(name) && files.size > given.size + maxFiles) return context.undefined;
    files.set(name, bytes);
    return context.undefined;
  };
  const bufferOf = (handle: QuickJSHandle) =>
    Scope.withScope((scope) => scope.manage(context.getArrayBuffer(handle)).value.slice());

  define('write', (text) => {
    write(context.getString(text ?? context.undefined));
    return context.undefined;
  });
  define('list', () => {
    const list = context.newArray();
    [...files.keys()].forEach((name, index) => context.setProp(list, index, context.newString(name)));
    return list;
  });
  define('readText', (name) =>
    context.newString(new TextDecoder().decode(bytesOf(context.getString(name ?? context.undefined)))),
  );
  define('readBytes', (name) => {
    const bytes = bytesOf(context.getString(name ?? context.undefined));
    return context.newArrayBuffer(bytes.slice().buffer as ArrayBuffer);
  });
  define('writeText', (name, text) =>
    put(
      context.getString(name ?? context.undefined),
      new TextEncoder().encode(context.getString(text ?? context.undefined)),
    ),
  );
  define('writeBytes', (name, data) =>
    put(context.getString(name ?? context.undefined), bufferOf(data ?? context.undefined)),
  );
  return host;
}

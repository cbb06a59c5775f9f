import { registerHooks } from 'node:module';
import { isolateProcess } from '@uswarm/service-kit/limited-process';

/** Interpreters need these besides the language. */
const KEPT = new Set(
  `Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp Error
  AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError globalThis JSON Math Intl ArrayBuffer
  Atomics Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float16Array Float32Array Float64Array
  Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set Iterator WeakMap WeakSet WeakRef Proxy Reflect
  FinalizationRegistry SuppressedError DisposableStack AsyncDisposableStack decodeURI decodeURIComponent encodeURI
  encodeURIComponent escape unescape isFinite isNaN WebAssembly TextEncoder TextDecoder atob btoa queueMicrotask performance`.split(
    /\s+/,
  ),
);

/** Functions of `process` that reach other modules or objects of Node.js. */
const CLOSED = [
  'abort',
  'binding',
  '_linkedBinding',
  'dlopen',
  'execve',
  'getBuiltinModule',
  'loadEnvFile',
  '_getActiveHandles',
  '_getActiveRequests',
  'openStdin',
];

export interface RealmOptions {
  /** Modules that can still be imported. */
  modules: readonly string[];
  /** Names that the interpreter expects. */
  globals?: Readonly<Record<string, unknown>>;
}

/**
 * Takes everything from this realm that belongs to Node.js: code that escapes its interpreter finds only the language.
 * Behind it, the process permissions still hold.
 */
export function closeRealm({ modules, globals = {} }: RealmOptions): void {
  isolateProcess();
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  for (const name of CLOSED) Object.defineProperty(process, name, { value: undefined, configurable: false });
  process.env = {};
  for (const name of Reflect.ownKeys(globalThis)) if (!KEPT.has(String(name))) Reflect.deleteProperty(globalThis, name);
  const timers = new Map<number, NodeJS.Timeout>();
  let last = 0;
  define('setTimeout', (run: () => void, ms?: number) => {
    last += 1;
    const id = last;
    const timer = start(() => {
      timers.delete(id);
      run();
    }, ms);
    timers.set(id, timer);
    return id;
  });
  define('clearTimeout', (id: number) => {
    stop(timers.get(id));
    timers.delete(id);
  });
  const ignore = () => undefined;
  define('console', { log: ignore, info: ignore, warn: ignore, error: ignore, debug: ignore, trace: ignore });
  for (const [name, value] of Object.entries(globals)) define(name, value);
  const known = new Set(modules);
  registerHooks({
    resolve(specifier, context, next) {
      if (!known.has(specifier)) throw new Error('This process imports no modules.');
      return next(specifier, context);
    },
  });
}

function define(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

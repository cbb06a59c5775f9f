import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { loadPyodide as LoadPyodide, PyodideInterface } from 'pyodide';
import { assetOf } from './assets.js';
import { closeRealm } from './closed-realm.js';
import { HARNESS } from './python-harness.js';
import type { ResultError } from './protocol.js';
import type { Run, RunInput } from './run.js';

/** The program's current folder. */
const FOLDER = '/data';

/** Where Pyodide asks for its files. */
const ASSETS = '/pyodide/';

/** Where the harness finds the packages. */
const PACKAGES = '/lib/packages';

const fileOf = (name: string): URL => assetOf(`pyodide/${name}`);

/** Python packages; none in a checkout whose build could not download them. */
function readWheels(): Map<string, Uint8Array> {
  const folders = ['./pyodide/', './python/'].map((path) => new URL(path, import.meta.url));
  const [folder] = folders.filter((each) => existsSync(each));
  if (folder === undefined) return new Map();
  const names = readdirSync(folder).filter((name) => name.endsWith('.whl'));
  return new Map(names.map((name) => [name, new Uint8Array(readFileSync(new URL(name, folder)))]));
}

interface Assets {
  modules: { asm: string; pyodide: string };
  files: Map<string, Uint8Array>;
  info: unknown;
  wheels: ReadonlyMap<string, Uint8Array>;
}

function readAssets(): Assets {
  const bytes = (name: string) => new Uint8Array(readFileSync(fileOf(name)));
  return {
    modules: { asm: fileOf('pyodide.asm.mjs').href, pyodide: fileOf('pyodide.mjs').href },
    files: new Map(['pyodide.asm.wasm', 'python_stdlib.zip'].map((name) => [ASSETS + name, bytes(name)])),
    info: (JSON.parse(readFileSync(fileOf('pyodide-lock.json'), 'utf8')) as { info: unknown }).info,
    wheels: readWheels(),
  };
}

/**
 * Functions of a shell without Node.js, which Pyodide takes this realm for. It then has no code that reads files,
 * opens sockets or starts processes.
 */
function shell(files: ReadonlyMap<string, Uint8Array>) {
  const random = crypto.getRandomValues.bind(crypto);
  const none = (): never => {
    throw new Error('File not found.');
  };
  return {
    read: none,
    load: none,
    readbuffer: (path: string) => files.get(path) ?? none(),
    // It asks for random bytes with `head -c24 /dev/urandom | base64`.
    os: {
      system(_program: string, [, command = '']: string[]) {
        const length = Number(/^head -c(\d+) \/dev\/urandom \|/.exec(command)?.[1] ?? none());
        return btoa(String.fromCharCode(...random(new Uint8Array(length))));
      },
    },
  };
}

export async function preparePython(): Promise<Run> {
  const { modules, files, info, wheels } = readAssets();
  closeRealm({ modules: Object.values(modules), globals: shell(files) });
  const { default: createPyodideModule } = (await import(modules.asm)) as { default: unknown };
  const { loadPyodide } = (await import(modules.pyodide)) as { loadPyodide: typeof LoadPyodide };
  const options = {
    indexURL: ASSETS,
    packageBaseUrl: ASSETS,
    lockFileContents: { info, packages: {} },
    createPyodideModule,
    jsglobals: Object.freeze(Object.create(null)),
    env: { HOME: FOLDER },
  };
  const pyodide = await loadPyodide(options as unknown as Parameters<typeof loadPyodide>[0]);
  for (const name of ['read', 'load', 'readbuffer']) Reflect.deleteProperty(globalThis, name);
  files.clear();
  return (input) => run(pyodide, wheels, input);
}

async function run(
  pyodide: PyodideInterface,
  wheels: ReadonlyMap<string, Uint8Array>,
  { code, files, write, maxFiles }: RunInput,
) {
  const { FS } = pyodide;
  const stream = {
    isatty: false,
    write(bytes: Uint8Array) {
      write(bytes);
      return bytes.length;
    },
  };
  pyodide.setStdout(stream);
  pyodide.setStderr(stream);
  pyodide.setStdin({ stdin: () => null });
  FS.mkdirTree(PACKAGES);
  for (const [name, bytes] of wheels) FS.writeFile(`${PACKAGES}/${name}`, bytes);
  for (const [name, bytes] of files) FS.writeFile(`${FOLDER}/${name}`, bytes);
  const error = await execute(pyodide, code);
  return { files: filesIn(FS, FOLDER, files.size + maxFiles + 1), ...(error === undefined ? {} : { error }) };
}

async function execute(pyodide: PyodideInterface, code: string): Promise<ResultError | undefined> {
  try {
    const start = pyodide.runPython(HARNESS) as (code: string) => Promise<string | undefined>;
    pyodide.unregisterJsModule('js');
    pyodide.unregisterJsModule('pyodide_js');
    const stack = await start(code);
    if (stack === undefined) return undefined;
    if (/^MemoryError\b/m.test(stack)) return { reason: 'memory', message: stack };
    return { reason: 'exception', message: stack };
  } catch (error) {
    const isMemory = error instanceof RangeError || /memory/i.test(String(error));
    if (isMemory) return { reason: 'memory', message: 'The code needs too much memory or is nested too deeply.' };
    return { reason: 'crash', message: 'The interpreter ended before the code did.' };
  }
}

type FileSystem = PyodideInterface['FS'];

/** Regular files, in folders too; no links. */
function filesIn(FS: FileSystem, folder: string, most: number, found = new Map<string, Uint8Array>()) {
  for (const name of FS.readdir(folder) as string[]) {
    if (name === '.' || name === '..' || found.size >= most) continue;
    const path = `${folder}/${name}`;
    const { mode } = FS.lstat(path) as { mode: number };
    if (FS.isDir(mode)) filesIn(FS, path, most, found);
    else if (FS.isFile(mode)) found.set(path.slice(FOLDER.length + 1), FS.readFile(path) as Uint8Array);
  }
  return found;
}

/** Targets that each attempt tries to reach. A leak prints a secret. */
export interface Targets {
  /** A variable in the parent's environment. */
  variable: string;
  /** A file with a secret. */
  file: string;
  /** A server on this machine that sends a secret to each connection. */
  port: number;
  /** A file that an attempt may create. */
  mark: string;
  parent: number;
}

export interface Escape {
  name: string;
  /** Prints what it finds. */
  code: (targets: Targets) => string;
  /** False if plain Node.js leaks nothing either. Default: true. */
  leaksInNode?: boolean;
  /** True if the interpreter does not survive it. */
  crashes?: boolean;
}

/** Statements in an async Python function. */
export const pythonEscapes: readonly Escape[] = [
  { name: 'environment', code: () => 'import os; print(dict(os.environ))' },
  { name: 'file', code: ({ file }) => `print(open('${file}').read())` },
  { name: 'passwd', code: () => "print(open('/etc/passwd').read())" },
  { name: 'proc environ', code: () => "print(open('/proc/self/environ').read())" },
  {
    name: 'descriptors',
    code: () => 'import os\nfor n in range(3, 64):\n  try: print(os.read(n, 100000))\n  except OSError: pass',
  },
  {
    name: 'link',
    code: ({ file }) => `import os; os.symlink('${file}', '/data/link.txt'); print(open('/data/link.txt').read())`,
  },
  { name: 'write', code: ({ mark }) => `open('${mark}', 'w').write('x')` },
  {
    name: 'socket',
    code: ({ port }) => `import socket; s = socket.create_connection(('127.0.0.1', ${port})); print(s.recv(1000))`,
  },
  {
    name: 'socket again',
    code: ({ port }) =>
      `import sys; [sys.modules.pop(n, None) for n in ('_socket', 'socket')]; import socket; s = socket.socket(); s.connect(('127.0.0.1', ${port})); print(s.recv(1000))`,
  },
  {
    name: 'urllib',
    code: ({ port }) => `import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:${port}').read())`,
  },
  {
    name: 'asyncio',
    code: ({ port }) =>
      `import asyncio; r, w = await asyncio.open_connection('127.0.0.1', ${port}); print(await r.read(1000))`,
  },
  { name: 'dns', code: () => "import socket; print(socket.getaddrinfo('localhost', 80))" },
  {
    name: 'pyfetch',
    code: ({ port }) =>
      `from pyodide.http import pyfetch; print(await (await pyfetch('http://127.0.0.1:${port}')).text())`,
  },
  {
    name: 'pyfetch again',
    code: ({ port }) =>
      `import sys; sys.modules.pop('pyodide.http'); from pyodide.http import pyfetch; print(await (await pyfetch('http://127.0.0.1:${port}')).text())`,
  },
  {
    name: 'open_url',
    code: ({ port }) => `from pyodide.http import open_url; print(open_url('http://127.0.0.1:${port}').read())`,
  },
  {
    name: 'micropip',
    code: ({ port }) => `import micropip; await micropip.install('http://127.0.0.1:${port}/a-1-py3-none-any.whl')`,
  },
  { name: 'system', code: ({ mark }) => `import os; print(os.system('touch ${mark}'))` },
  { name: 'subprocess', code: ({ mark }) => `import subprocess; print(subprocess.check_output(['touch', '${mark}']))` },
  { name: 'fork', code: ({ mark }) => `import os; os.fork(); os.execv('/bin/touch', ['touch', '${mark}'])` },
  { name: 'kill the parent', code: ({ parent }) => `import os; os.kill(${parent}, 9)` },
  { name: 'js', code: ({ variable }) => `import js; print(js.process.env.${variable})` },
  {
    name: 'js again',
    code: ({ variable }) => `import sys; sys.modules.pop('js'); import js; print(dir(js), js.process.env.${variable})`,
  },
  { name: 'run_js', code: () => "from pyodide.code import run_js; print(run_js('JSON.stringify(process.env)'))" },
  {
    name: 'pyodide_js',
    code: ({ file }) =>
      `import sys; sys.modules.pop('pyodide_js'); import pyodide_js; FS = pyodide_js.FS; FS.mkdir('/host'); FS.mount(FS.filesystems.NODEFS, {'root': '/'}, '/host'); print(open('/host${file}').read())`,
  },
  {
    name: '_pyodide_core',
    code: () =>
      "import sys; sys.modules.pop('_pyodide_core'); import _pyodide_core; print(_pyodide_core.run_js('JSON.stringify(process.env)'))",
  },
  {
    name: 'built-in module',
    code: () =>
      "import importlib.util, _imp\nfor n in ('_pyodide_core', 'js', '_ctypes'):\n  try: m = _imp.create_builtin(importlib.util.spec_from_loader(n, None)); print(dir(m)); print(m.run_js('JSON.stringify(process.env)'))\n  except Exception as e: print(repr(e))",
  },
  {
    name: 'finder of modules',
    code: ({ variable }) =>
      `import sys\nfor f in sys.meta_path:\n  for n, p in list(getattr(f, 'jsproxies', {}).items()):\n    print(n, dir(p)); print(p.process.env.${variable})`,
  },
  {
    name: 'constructor of an array',
    code: () =>
      "from pyodide.ffi import to_js; print(to_js([1]).constructor.constructor('return JSON.stringify(process.env)')())",
  },
  {
    name: 'constructor of an error',
    code: () =>
      "from pyodide.ffi import to_js, JsException\ntry: to_js([1]).at.call(None)\nexcept JsException as e: print(e.constructor.constructor('return JSON.stringify(process.env)')())",
  },
  {
    name: 'call sites',
    code: () =>
      `from pyodide.ffi import to_js, create_proxy, JsException\ntry: to_js([1]).at.call(None)\nexcept JsException as e:\n  E = e.constructor\n  E.prepareStackTrace = create_proxy(lambda error, sites: [[print(str(s)), print(s.getThis(), s.getFunction())] for s in sites])\n  print(E.new('x').stack)`,
  },
  {
    name: 'objects in memory',
    code: ({ variable }) =>
      `import gc\nfor o in gc.get_objects():\n  if 'JsProxy' in type(o).__name__:\n    for path in ('process', 'globalThis', '_module', 'FS', '_api'):\n      if hasattr(o, path): print(path); print(o.process.env.${variable})`,
  },
  {
    name: 'frames',
    code: ({ variable }) =>
      `import sys\nf = sys._getframe()\nwhile f:\n  for n, v in list(f.f_locals.items()) + list(f.f_globals.items()):\n    if hasattr(v, 'process') or 'Js' in type(v).__name__: print(n); print(v.process.env.${variable})\n  f = f.f_back`,
  },
  {
    name: 'ctypes',
    crashes: true,
    code: ({ variable }) =>
      `import sys; [sys.modules.pop(n) for n in ('_ctypes', 'ctypes')]; import ctypes; f = ctypes.CDLL(None).emscripten_run_script_string; f.restype = ctypes.c_char_p; print(f(b'process.env.${variable}'))`,
  },
  {
    name: 'dynamic library',
    code: ({ file }) => `import sys; sys.modules.pop('_ctypes'); import _ctypes; print(_ctypes.dlopen('${file}', 2))`,
  },
  {
    name: 'multiprocessing',
    code: ({ file }) =>
      `import multiprocessing; p = multiprocessing.Process(target=open, args=('${file}',)); p.start(); p.join(); print(p.exitcode)`,
  },
  {
    name: 'pollution',
    crashes: true,
    code: () =>
      "from pyodide.ffi import to_js; o = to_js({'a': 1}).constructor.prototype; o.polluted = 'yes'; o.toJSON = None; to_js([1]).constructor.prototype.map = None",
  },
];

/** Scripts for QuickJS. */
export const javascriptEscapes: readonly Escape[] = [
  { name: 'process', code: ({ variable }) => `print(process.env.${variable})` },
  { name: 'require', code: ({ file }) => `print(require('fs').readFileSync('${file}', 'utf8'))` },
  { name: 'import', code: ({ file }) => `import('node:fs').then((fs) => print(fs.readFileSync('${file}', 'utf8')))` },
  { name: 'std', code: ({ file }) => `import('std').then((std) => print(std.loadFile('${file}'), std.getenviron()))` },
  { name: 'os', code: ({ mark }) => `import('os').then((os) => os.exec(['touch', '${mark}']))` },
  {
    name: 'constructor of the global object',
    code: () => "print(globalThis.constructor.constructor('return JSON.stringify(process.env)')())",
  },
  {
    name: 'constructor of a host function',
    code: () => "print(listFiles.constructor('return JSON.stringify(process.env)')())",
  },
  {
    name: 'error of the host',
    code: () =>
      "try { readFile('nothing') } catch (e) { print(Object.getOwnPropertyNames(e)); print(e.constructor.constructor('return JSON.stringify(process.env)')()) }",
  },
  { name: 'path', code: ({ file }) => `print(readFile('${file}'))` },
  { name: 'relative path', code: () => "print(readFile('../../../../../../../etc/passwd'))" },
  { name: 'write', code: ({ mark }) => `writeFile('${mark}', 'x'); writeFile('../../../..${mark}', 'x')` },
  { name: 'fetch', code: ({ port }) => `fetch('http://127.0.0.1:${port}').then((r) => r.text()).then(print)` },
  { name: 'WebSocket', code: ({ port }) => `new WebSocket('ws://127.0.0.1:${port}')` },
  { name: 'WebAssembly', code: () => 'print(typeof WebAssembly, new WebAssembly.Memory({ initial: 1 }))' },
  {
    name: 'pollution',
    code: () =>
      "Object.prototype.polluted = 'yes'; Array.prototype.map = null; writeFile('__proto__', 'x'); writeFile('constructor', 'x')",
  },
  {
    name: 'object as a name',
    code: ({ file }) =>
      `print(readFile({ toString: () => '${file}' })); print(readFile(new Proxy({}, { get: () => () => '${file}' })))`,
  },
  { name: 'stack', code: () => 'Error.prepareStackTrace = (e, sites) => sites; print(new Error("x").stack)' },
];

/** Statements in an async function in the process itself, as if an interpreter were broken. */
export const nativeEscapes: readonly Escape[] = [
  { name: 'environment', code: ({ variable }) => `print(process.env.${variable})` },
  { name: 'file', code: ({ file }) => `print((await import('node:fs')).readFileSync('${file}', 'utf8'))` },
  { name: 'passwd', code: () => "print((await import('node:fs')).readFileSync('/etc/passwd', 'utf8'))" },
  { name: 'proc environ', code: () => "print((await import('node:fs')).readFileSync('/proc/self/environ', 'utf8'))" },
  {
    name: 'environment of the parent',
    code: ({ parent }) => `print((await import('node:fs')).readFileSync('/proc/${parent}/environ', 'utf8'))`,
  },
  { name: 'write', code: ({ mark }) => `(await import('node:fs')).writeFileSync('${mark}', 'x')` },
  {
    name: 'descriptor',
    code: ({ file }) =>
      `const fs = await import('node:fs'); const b = Buffer.alloc(1000); fs.readSync(fs.openSync('${file}'), b); print(b)`,
  },
  {
    name: 'createRequire',
    code: ({ file }) =>
      `print((await import('node:module')).createRequire('file:///tmp/x.js')('node:fs').readFileSync('${file}', 'utf8'))`,
  },
  {
    name: 'getBuiltinModule',
    code: ({ file }) => `print(process.getBuiltinModule('fs').readFileSync('${file}', 'utf8'))`,
  },
  {
    name: 'binding',
    code: () => "print(process.binding('fs').internalModuleReadJSON('/etc/passwd'))",
    leaksInNode: false,
  },
  {
    name: 'sqlite',
    code: ({ file }) =>
      `const { DatabaseSync } = await import('node:sqlite'); print(new DatabaseSync('${file}').prepare('select 1').all())`,
    leaksInNode: false,
  },
  { name: 'env file', code: ({ file }) => `process.loadEnvFile('${file}'); print(process.env)`, leaksInNode: false },
  {
    name: 'spawn',
    code: ({ file }) =>
      `print((await import('node:child_process')).execFileSync('cat', ['${file}'], { encoding: 'utf8' }))`,
  },
  { name: 'fork', code: ({ mark }) => `(await import('node:child_process')).fork('${mark}')`, leaksInNode: false },
  {
    name: 'thread',
    code: ({ file }) =>
      `const { Worker } = await import('node:worker_threads'); await new Promise((end, fail) => new Worker("require('node:worker_threads').parentPort.postMessage(require('node:fs').readFileSync('${file}', 'utf8'))", { eval: true }).on('error', fail).on('message', (m) => { print(m); end(); }))`,
  },
  {
    name: 'execve',
    code: ({ mark }) => `if (globalThis.isWalled) process.execve('/bin/touch', ['touch', '${mark}'])`,
    leaksInNode: false,
  },
  {
    name: 'kill the parent',
    code: ({ parent }) => `if (globalThis.isWalled) process.kill(${parent}, 'SIGKILL')`,
    leaksInNode: false,
  },
  {
    name: 'addon',
    code: () => "process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6')",
    leaksInNode: false,
  },
  { name: 'inspector', code: () => "(await import('node:inspector')).open(0); print('listens')", leaksInNode: false },
  {
    name: 'WASI',
    code: () =>
      "const { WASI } = await import('node:wasi'); print(new WASI({ version: 'preview1', preopens: { '/': '/' } }))",
    leaksInNode: false,
  },
  {
    name: 'net',
    code: ({ port }) =>
      `const net = await import('node:net'); await new Promise((end, fail) => net.connect(${port}, '127.0.0.1').on('error', fail).on('data', (d) => { print(d); end(); }))`,
  },
  {
    name: 'http',
    code: ({ port }) =>
      `const http = await import('node:http'); await new Promise((end, fail) => http.get('http://127.0.0.1:${port}').on('error', fail).on('response', (r) => r.on('data', print).on('end', end)))`,
  },
  { name: 'fetch', code: ({ port }) => `print(await (await fetch('http://127.0.0.1:${port}')).text())` },
  {
    name: 'tls',
    code: ({ port }) =>
      `const tls = await import('node:tls'); await new Promise((end, fail) => tls.connect(${port}, '127.0.0.1').on('error', fail))`,
    leaksInNode: false,
  },
  {
    name: 'WebSocket',
    code: ({ port }) => `await new Promise((end, fail) => { new WebSocket('ws://127.0.0.1:${port}').onerror = fail; })`,
    leaksInNode: false,
  },
  {
    name: 'datagram',
    code: ({ port }) =>
      `const s = (await import('node:dgram')).createSocket('udp4'); s.send('x', ${port}, '127.0.0.1'); print('sent'); s.close()`,
    leaksInNode: false,
  },
  {
    name: 'dns',
    code: () => "print(await (await import('node:dns')).promises.lookup('localhost'))",
    leaksInNode: false,
  },
  { name: 'Function', code: () => "print(Function('return JSON.stringify(process.env)')())" },
  {
    name: 'AsyncFunction',
    code: () => "print(await (async () => {}).constructor('return JSON.stringify(process.env)')())",
  },
  { name: 'eval', code: () => "print((0, eval)('JSON.stringify(process.env)'))" },
  {
    name: 'data module',
    code: () =>
      "await import('data:text/javascript,globalThis.leak = JSON.stringify(process.env)'); print(globalThis.leak)",
  },
  {
    name: 'console',
    code: ({ variable }) => `print(console._stdout.constructor, (await import('node:process')).env.${variable})`,
  },
  {
    name: 'import of WebAssembly',
    code: ({ variable }) =>
      `await WebAssembly.instantiate(new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,2,7,1,1,97,1,102,0,0,8,1,0]), { a: { f: () => print(process.env.${variable}) } })`,
  },
  {
    name: 'call sites',
    code: ({ variable }) =>
      `Error.prepareStackTrace = (e, sites) => sites; for (const s of new Error('x').stack) print(s.getThis()?.process?.env.${variable})`,
    leaksInNode: false,
  },
];

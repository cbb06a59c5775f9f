import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nodeBinary, repositoryRoot } from '../run/environment.mjs';
import { stopOnceListening } from '../run/quiet.mjs';
import { bundledPackages, bundlePrograms } from './bundle.mjs';
import { COMPILE_CACHE, writeCompileCache } from './compile-cache.mjs';
import { writeContext } from './content.mjs';
import { serviceFiles } from './service-images.mjs';
import { services } from './services.mjs';

let folder;
const app = (name) => join(folder, name, 'app');
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uswarm-bundles-'));
  for (const service of services) {
    const { entries } = await serviceFiles(service);
    writeContext(entries, join(folder, service.name));
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs an image's program with an otherwise empty environment, and stops it when it listens. */
function run(service, program, env = {}) {
  return runFile(join(app(service), 'dist', `${program}.js`), env);
}

function runFile(file, env) {
  return stopOnceListening(spawn(nodeBinary, [file], { env, cwd: '/' }));
}

/** A program's source files, with static imports, according to the source maps. */
function sourcesAtStart(service, program) {
  const dist = join(app(service), 'dist');
  const seen = new Set();
  const visit = (file) => {
    if (seen.has(file)) return;
    seen.add(file);
    const code = readFileSync(join(dist, file), 'utf8');
    for (const [, imported] of code.matchAll(/(?:^|[;}\n])(?:import|export)[^;()'"]*?["']\.\/([^"']+\.js)["']/g)) {
      visit(imported);
    }
  };
  visit(`${program}.js`);
  return [...seen].flatMap((file) => JSON.parse(readFileSync(join(dist, `${file}.map`), 'utf8')).sources);
}

/** A service's source files, in all its programs. */
function sourcesIn(service) {
  const dist = join(app(service), 'dist');
  const maps = readdirSync(dist).filter((file) => file.endsWith('.map'));
  return maps.flatMap((file) => JSON.parse(readFileSync(join(dist, file), 'utf8')).sources);
}

// A thread does nothing without the program that starts it.
const programs = services.flatMap(({ name, programs: own }) =>
  own.filter((program) => !program.endsWith('-worker')).map((program) => [name, program]),
);

describe('the bundles of the images', () => {
  it('bundles include every program of every service', () => {
    for (const { name, programs: own } of services) {
      const sources = readdirSync(join(repositoryRoot, 'services', name, 'src'));
      const found = sources.filter((file) => /^(?:main|cli|.+-main|.+-worker)(?:\.nonproduction)?\.ts$/.test(file));
      expect({ name, programs: own.map((program) => `${program}.ts`).toSorted() }).toEqual({
        name,
        programs: found.toSorted(),
      });
    }
  });

  it.each(programs)('%s/%s runs until the first missing setting', async (service, program) => {
    const { code, output } = await run(service, program);
    expect(output).toMatch(
      / is not set|is started by create(?:FileReader|CodeRunner)|starts only with USWARM_ENV|Usage: drain-main|query must be/,
    );
    expect(code).toBeGreaterThan(0);
    expect(code).toBeLessThanOrEqual(3);
  });

  it('the reader of files finds its WebAssembly files beside its bundle', async () => {
    const reader = join(repositoryRoot, 'packages/file-reader');
    const { entries, inputs } = await bundlePrograms({ folder: reader, programs: ['program'], root: repositoryRoot });
    expect(entries.map(({ path }) => path).filter((path) => path.endsWith('.wasm'))).toEqual([
      'dist/pdfium.wasm',
      'dist/magick.wasm',
    ]);
    expect(inputs.join('\n')).toMatch(/magick-wasm[\s\S]*embedpdf|embedpdf[\s\S]*magick-wasm/);
    writeContext(entries, join(folder, 'file-reader'));
    const script = `
      import { readFileSync } from 'node:fs';
      import { createRequire } from 'node:module';
      import { createFileReader } from ${JSON.stringify(pathToFileURL(join(reader, 'dist/index.js')))};
      const program = new URL(${JSON.stringify(pathToFileURL(join(app('file-reader'), 'dist/program.js')))});
      const reader = createFileReader({ program, limits: { timeMs: 120_000 } });
      const { signal } = new AbortController();
      const bytes = readFileSync(${JSON.stringify(join(reader, 'test/fixtures/phone.heic'))});
      const { type, width } = await reader.picture({ name: 'a', type: '', bytes, size: bytes.length }, signal);
      const { Document, Packer, Paragraph } = createRequire(${JSON.stringify(join(reader, 'package.json'))})('docx');
      const document = await Packer.toBuffer(new Document({ sections: [{ children: [new Paragraph('Hello')] }] }));
      const { parts } = await reader.text({ name: 'a', type: '', bytes: document, size: document.length }, signal);
      const pdf = Buffer.from('%PDF-1.4 nothing');
      const { problem } = await reader.text({ name: 'a', type: '', bytes: pdf, size: pdf.length }, signal);
      console.log(JSON.stringify({ type, width, parts, problem }));`;
    const child = spawn(nodeBinary, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(await json(child.stdout)).toEqual({
      type: 'image/jpeg',
      width: 600,
      parts: [{ label: '', text: 'Hello' }],
      problem: 'corrupt',
    });
  });

  it('the bundle of the runtime loads model client, tool client and metrics lazily', () => {
    const sources = sourcesAtStart('agent-runtime', 'main');
    expect(sources.some((path) => path.includes('/@connectrpc/connect-node/'))).toBe(true);
    expect(
      sources.filter((path) =>
        /node_modules\/(?:@ai-sdk|eventsource-parser|@modelcontextprotocol|prom-client)\//.test(path),
      ),
    ).toEqual([]);
    expect(sources.filter((path) => /\/zod\/.*\/locales\/(?!en\.)/.test(path))).toEqual([]);
  });

  it('the bundle of the orchestrator loads the clients of Kubernetes and S3 lazily', () => {
    const sources = sourcesAtStart('orchestrator', 'main');
    expect(sources.some((path) => path.includes('/@redis/client/'))).toBe(true);
    expect(
      sources.filter((path) => /node_modules\/(?:@kubernetes\/client-node|@aws-sdk|@smithy)\//.test(path)),
    ).toEqual([]);
  });

  it.each(['orchestrator', 'realtime-gateway', 'model-gateway'])(
    'the bundle of the %s has the SDK of OpenTelemetry in files that it loads lazily',
    (service) => {
      const ofSdk = (sources) => sources.filter((path) => /@opentelemetry\/(?:sdk|exporter|otlp)-/.test(path));
      expect(ofSdk(sourcesAtStart(service, 'main'))).toEqual([]);
      expect(ofSdk(sourcesIn(service))).not.toEqual([]);
    },
  );

  it('the bundle of the runtime has no SDK of OpenTelemetry', () => {
    expect(sourcesIn('agent-runtime').filter((path) => /@opentelemetry\/(?!api\/)/.test(path))).toEqual([]);
  });

  it('no code of the runtime runs so often at its start that TurboFan optimizes it', async () => {
    const { warmUp } = services.find(({ name }) => name === 'agent-runtime');
    const args = ['--trace-opt', join(app('agent-runtime'), 'dist/main.js')];
    const { output } = await stopOnceListening(spawn(nodeBinary, args, { env: warmUp, cwd: '/' }));
    expect(output).toContain('"event":"listening"');
    // It prints also what the faster compilers do.
    expect(output).toContain('completed compiling');
    expect(output.match(/compiling method .*TURBOFAN.*/g)).toBeNull();
  });

  it('the Base64 decoder of protobuf decodes like the original, and rejects the same texts', async () => {
    const source = join(folder, 'base64');
    mkdirSync(join(source, 'dist'), { recursive: true });
    const original = createRequire(join(repositoryRoot, 'packages/runtime-proto/package.json'))
      .resolve('@bufbuild/protobuf/wire')
      .replace('/dist/cjs/wire/index.js', '/dist/esm/wire/base64-encoding.js');
    writeFileSync(join(source, 'dist', 'decode.js'), `export { base64Decode } from ${JSON.stringify(original)};`);
    const { entries } = await bundlePrograms({ folder: source, programs: ['decode'], root: folder });
    const file = join(source, 'decode.mjs');
    writeFileSync(file, entries.find(({ path }) => path === 'dist/decode.js').text);
    const [bundled, unchanged] = await Promise.all([import(file), import(original)]);
    const outcome = ({ base64Decode }, text) => {
      try {
        return Array.from(base64Decode(text));
      } catch (error) {
        return error.message;
      }
    };
    const texts = [
      '',
      'AQID',
      'AQI=',
      'AQI',
      'AQ==',
      'AQ=',
      'AR',
      '-_-_',
      'AQ ID\n',
      'AQ==AQ==',
      'A',
      'A===',
      'AQ!D',
      'ä',
      'AQIDB',
    ];
    expect(texts.map((text) => outcome(bundled, text))).toEqual(texts.map((text) => outcome(unchanged, text)));
    expect(outcome(bundled, 'AQ!D')).toBe('invalid base64 string');
  });

  it('bundles of production programs contain no end-to-end bypass', () => {
    const bypass = (program) => sourcesAtStart('orchestrator', program).filter((path) => path.includes('e2e-bypass'));
    expect(bypass('main.nonproduction')).not.toEqual([]);
    expect(bypass('main')).toEqual([]);
  });

  it('source maps have repository paths instead of paths of the build machine', () => {
    const [map] = readdirSync(join(app('uswarm-webhook'), 'dist')).filter((file) => file.endsWith('.map'));
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(app('uswarm-webhook'), 'dist', map), 'utf8'));
    expect(sources).toContain('../src/main.ts');
    expect(sources.filter((path) => path.includes(repositoryRoot))).toEqual([]);
    expect(sourcesContent ?? []).toEqual([]);
  });

  it('bundles of identical sources are identical', async () => {
    const { entries } = await serviceFiles(services.find(({ name }) => name === 'agent-runtime'));
    const main = entries.find(({ path }) => path === 'dist/main.js');
    expect(main.text).toBe(readFileSync(join(app('agent-runtime'), 'dist/main.js'), 'utf8'));
  });
});

const onLinux = process.platform === 'linux' ? describe : describe.skip;
onLinux('a bundle as PID 1 of a container', () => {
  // A new PID namespace gives the program the PID 1, for which the kernel ignores signals without a handler.
  const unshare = ['--pid', '--fork', '--kill-child', ...(process.getuid() === 0 ? [] : ['--user', '--map-root-user'])];

  it('exits on SIGTERM before its code handles signals', async () => {
    const source = join(folder, 'early');
    mkdirSync(join(source, 'dist'), { recursive: true });
    writeFileSync(
      join(source, 'dist', 'slow.js'),
      "console.log('evaluating'); await new Promise(() => setInterval(() => {}, 1e6));",
    );
    const { entries } = await bundlePrograms({ folder: source, programs: ['slow'], root: folder });
    const file = join(source, 'slow.mjs');
    writeFileSync(file, entries.find(({ path }) => path === 'dist/slow.js').text);

    const child = spawn('unshare', [...unshare, nodeBinary, file], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(child.stdout, 'data');
      const [pid] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
      const exited = once(child, 'exit', { signal: AbortSignal.timeout(20_000) });
      process.kill(Number(pid), 'SIGTERM');
      expect(await exited).toEqual([143, null]);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('the compile cache of an image', () => {
  const service = services.find(({ name }) => name === 'agent-runtime');
  const cache = () => join(app('agent-runtime'), COMPILE_CACHE);
  const env = () => ({
    ...service.warmUp,
    NODE_OPTIONS: service.nodeOptions,
    NODE_COMPILE_CACHE: cache(),
    NODE_COMPILE_CACHE_PORTABLE: '1',
    NODE_DEBUG_NATIVE: 'COMPILE_CACHE',
  });
  const user = process.getuid?.();
  beforeAll(() => writeCompileCache({ ...service, folder: app('agent-runtime'), user }));
  const onlyFolder = () => join(cache(), readdirSync(cache())[0]);

  it('a runtime with read-only access accepts the compile cache at any path', async () => {
    chmodSync(cache(), 0o555);
    const built = app('agent-runtime');
    const image = join(folder, 'image');
    renameSync(built, image);
    const { code, output } = await runFile(join(image, 'dist/main.js'), {
      ...env(),
      NODE_COMPILE_CACHE: join(image, COMPILE_CACHE),
    });
    renameSync(image, built);
    chmodSync(cache(), 0o755);
    expect(output).toMatch(/main\.js was accepted/);
    expect(code).toBe(0);
  });

  it('the compile cache covers lazily loaded code, and is readable for the user of the image', () => {
    const parts = readdirSync(join(app('agent-runtime'), 'dist')).filter((file) => file.endsWith('.js'));
    expect(readdirSync(onlyFolder()).length).toBeGreaterThanOrEqual(parts.length);
  });

  it('another Node.js, user or processor ignores the compile cache', async () => {
    renameSync(onlyFolder(), join(cache(), 'v24.0.0-x64-00000000-1'));
    chmodSync(cache(), 0o555);
    const { code, output } = await run('agent-runtime', 'main', env());
    chmodSync(cache(), 0o755);
    expect(output).toContain('"event":"listening"');
    expect(output).not.toMatch(/main\.js was accepted/);
    expect(code).toBe(0);
  });

  it('Node.js ignores a damaged compile cache', async () => {
    rmSync(cache(), { recursive: true });
    await writeCompileCache({ ...service, folder: app('agent-runtime'), user });
    for (const file of readdirSync(onlyFolder())) writeFileSync(join(onlyFolder(), file), 'damaged');
    const { code, output } = await run('agent-runtime', 'main', env());
    expect(output).toContain('"event":"listening"');
    expect(code).toBe(0);
  });
});

describe('the packages of a bundle', () => {
  const placed = (name, path) => ({ folder: join('/r', path), manifest: { name } });
  const all = [
    placed('web', 'services/web'),
    placed('kit', 'packages/kit'),
    placed('a', 'node_modules/.pnpm/a@1/node_modules/a'),
  ];
  const names = (inputs) => bundledPackages(inputs, all, '/r').map(({ manifest }) => manifest.name);

  it('bundledPackages returns the service and the packages with code in the bundle', () => {
    expect(names(['services/web/dist/main.js', 'packages/kit/dist/x.js'])).toEqual(['web', 'kit']);
    expect(names(['node_modules/.pnpm/a@1/node_modules/a/lib/x.js'])).toEqual(['web', 'a']);
  });

  it('bundledPackages rejects a package that is not a dependency of the service', () => {
    expect(() => names(['node_modules/.pnpm/b@1/node_modules/b/x.js'])).toThrow(
      'is in the bundle of web but belongs to no package.',
    );
  });
});

describe('the image of the orchestrator', () => {
  it('contains the page of users where the bundle looks for it, and the licences of the packages in it', () => {
    const page = join(app('orchestrator'), 'dist/page');
    expect(readdirSync(page)).toEqual(
      expect.arrayContaining(['assets', 'icon.svg', 'index.html', 'service-worker.js']),
    );
    const code = readFileSync(join(app('orchestrator'), 'dist/main.js'), 'utf8');
    const [, path, module] =
      /new URL\("([^"]*\/page\/)",new URL\("([^"]*)",import\.meta\.url\)\.href\)/.exec(code) ?? [];
    const main = pathToFileURL(join(app('orchestrator'), 'dist/main.js'));
    expect(fileURLToPath(new URL(path, new URL(module, main)))).toBe(join(page, '/'));
    const licences = readdirSync(join(folder, 'orchestrator/modules/licenses'));
    for (const name of ['virtua', 'mdast-util-from-markdown', 'oauth4webapi'])
      expect(licences).toContainEqual(expect.stringMatching(new RegExp(`^${name}@`)));
  });

  it('contains the reference pages, and the licences of the packages in them', () => {
    const root = app('orchestrator');
    expect(readdirSync(join(root, 'reference-pages'))).toEqual(
      expect.arrayContaining(['realtime.html', 'realtime.js', 'rest.css', 'rest.html', 'rest.js']),
    );
    const folders = ['', '@asyncapi/'].map((scope) => join(folder, 'orchestrator/modules/licenses', scope));
    const licences = folders.flatMap((each) => readdirSync(each));
    for (const name of ['swagger-ui-dist', 'react-component', 'react-dom', 'dompurify', 'marked']) {
      expect(licences).toContainEqual(expect.stringMatching(new RegExp(`^${name}@`)));
    }
  });
});

// Lets a worker's test files share large packages, which jest would otherwise compile and run again for each file.
// Their code is then also optimized once. A shared package runs outside a test file's sandbox, with `environment.mjs`.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { types } from 'node:util';
import { repositoryRoot } from '../run/environment.mjs';

/**
 * Packages whose state no test changes. Not suitable: packages that tests run with fake timers, and packages that
 * compare the classes of plain values, because the sandbox has its own `Object`, `Promise` and `RegExp`.
 */
const SHARED = new Set([
  '@ai-sdk/anthropic',
  '@ai-sdk/openai-compatible',
  '@ai-sdk/provider',
  '@aws-sdk/client-s3',
  '@aws-sdk/lib-storage',
  '@bufbuild/protobuf',
  '@connectrpc/connect',
  '@connectrpc/connect-node',
  '@kubernetes/client-node',
  '@modelcontextprotocol/client',
  '@modelcontextprotocol/node',
  '@modelcontextprotocol/server',
  '@opentelemetry/api',
  '@redis/client',
  '@socket.io/redis-adapter',
  'compression',
  'fast-check',
  'file-type',
  'html-to-text',
  'kysely',
  'music-metadata',
  'nodemailer',
  'pg',
  'pino',
  'socket.io',
  'socket.io-client',
  'undici',
  'yaml',
  'zod',
  'zod-openapi',
]);

const FOLDER = join(repositoryRoot, '.cache/jest-packages');
const require = createRequire(import.meta.url);
const wrappers = new Map();

/** Packages import their dependencies as usual, so that each gets the version that it needs. */
export function sync(request, options) {
  const file = options.defaultResolver(request, options);
  const isImport = options.conditions?.includes('import') === true;
  if (!isImport || !SHARED.has(packageOf(request)) || options.basedir.includes(`${sep}node_modules${sep}`)) return file;
  if (!wrappers.has(file)) wrappers.set(file, wrapper(file));
  return wrappers.get(file);
}

function packageOf(request) {
  return request.split('/', request.startsWith('@') ? 2 : 1).join('/');
}

/** @returns a module with the exports of `file`, which is created unless it exists. The path of `file` contains its version. */
function wrapper(file) {
  const path = join(FOLDER, `${createHash('sha256').update(file).digest('hex')}.mjs`);
  if (existsSync(path)) return path;
  const exports = require(file);
  const names = Object.keys(exports).filter((name) => /^[\w$]+$/.test(name) && name !== 'default');
  const isModule = types.isModuleNamespaceObject(exports);
  // Parallel workers can create it at the same time.
  const draft = `${path}.${process.pid}`;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(
    draft,
    `const exports = uswarmRequire(${JSON.stringify(file)});
const { ${names.map((name) => `${name}: _${name}`).join(', ')} } = exports;
export { ${names.map((name) => `_${name} as ${name}`).join(', ')} };
export default ${isModule ? 'exports.default' : 'exports'};
`,
  );
  renameSync(draft, path);
  return path;
}

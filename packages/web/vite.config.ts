import { relative } from 'node:path';
import { defineConfig, type Plugin } from 'vite';

/** Notes which files have code in the page: an image lists their packages and licences (hack/images). */
const inputs: Plugin = {
  name: 'inputs',
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap((part) =>
      part.type === 'chunk' ? Object.entries(part.modules) : [],
    );
    const files = modules
      .filter(([id, { renderedLength }]) => renderedLength > 0 && !id.startsWith('\0'))
      .map(([id]) => relative(`${import.meta.dirname}/../..`, id.replace(/[?].*$/, '')));
    const source = `${JSON.stringify([...new Set(files)].toSorted(), null, 1)}\n`;
    this.emitFile({ type: 'asset', fileName: '.vite/inputs.json', source });
  },
};

const OVERLAYS =
  /node_modules.*(?:@base-ui|@floating-ui|tabbable|reselect|with-selector)|src.(?:ui.(?:menu|tabs|toaster|overlay)|conversation.mention-menu)/;
const SCREENS =
  /src.(?:account|agents|artifacts|connections|developer|legal.legal|receipts|swarm|timeline|usage|ui.(?:copy|dialog)|shell.keys-dialog|conversation.search-panel)|node_modules.diff/;

/** `npm run build` writes the page to dist/page. The server part (src/server) serves it; local mode does so at `/`. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [inputs],
  // Bundles workspace packages from their sources, as in the tests.
  resolve: { conditions: ['uswarm-source', 'module', 'browser', 'development|production'] },
  build: {
    outDir: 'dist/page',
    emptyOutDir: true,
    target: 'es2023',
    manifest: true,
    // One small file: a part of the page whose own styles could not be loaded would stay without them.
    cssCodeSplit: false,
    // All target browsers preload modules.
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { page: 'index.html', 'service-worker': 'src/service-worker/service-worker.ts' },
      // A service worker's address never changes, and it may control only paths below its own.
      output: {
        entryFileNames: ({ name }) => (name === 'service-worker' ? '[name].js' : 'assets/[name]-[hash].js'),
        // Small chunks compress badly. The first load contains neither group.
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: 'overlays', test: OVERLAYS },
            { name: 'screens', test: SCREENS },
          ],
        },
      },
    },
    // The content security policy does not allow data: URLs.
    assetsInlineLimit: 0,
  },
  // For work on the page: `npx vite packages/web` beside `npm start`.
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/dev', '/docs', '/socket.io', '/page.json'].map((path) => [
        path,
        { target: 'http://127.0.0.1:8080', ws: path === '/socket.io' },
      ]),
    ),
  },
});

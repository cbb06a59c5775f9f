// The entry point of `npm start`, `npm test` and the other commands. It runs on Node.js 20 without installed packages: it
// installs the locked packages, builds, and starts the pinned Node.js. Everything except the version check is in hack/run/.
const OLDEST_NODE = 20;

const major = Number(process.versions.node.split('.')[0]);
if (major < OLDEST_NODE) {
  console.error(
    `uswarm requires Node ${OLDEST_NODE} or newer, but this is Node ${process.versions.node}. Install a newer version.`,
  );
  process.exit(1);
}
const { main } = await import('./run/main.mjs');
process.exitCode = await main(process.argv.slice(2));

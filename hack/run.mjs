// The one entry point of `npm start`, `npm test` and the others. It runs on Node 20 with nothing
// installed: it installs what is locked, builds, and hands over to the Node that the repository
// pins. Everything beside the version check is in hack/run/.
const OLDEST_NODE = 20;

const major = Number(process.versions.node.split('.')[0]);
if (major < OLDEST_NODE) {
  console.error(
    `uswarm needs Node ${OLDEST_NODE} or newer, and this is Node ${process.versions.node}: install a newer one.`,
  );
  process.exit(1);
}
const { main } = await import('./run/main.mjs');
process.exitCode = await main(process.argv.slice(2));

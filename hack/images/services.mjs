/**
 * The services with an image `uswarm/<name>`: their programs in `services/<name>/dist`, each bundled into one file, and the
 * files that they read: `files` below the service, and `packageFiles` from npm packages, by their path in the image. `pythonWheels` is the folder for packages that Python code of agents uses. `warmUp` is an environment in which `main` starts without other servers to create the compile
 * cache; `nodeOptions` is the image's NODE_OPTIONS; `keepNames` is a bundler option.
 */
export const services = [
  {
    name: 'orchestrator',
    programs: [
      'main',
      'main.nonproduction',
      'migrate-main',
      'code-runner-main',
      'file-reader-main',
      'file-writer-worker',
    ],
    files: ['config', 'migrations'],
    // Where the bundled `fonts.js` of @uswarm/file-writer looks for them.
    packageFiles: {
      ...Object.fromEntries(
        ['DejaVuSans', 'DejaVuSans-Bold', 'DejaVuSans-Oblique', 'DejaVuSansMono'].map((font) => [
          `fonts/${font}.ttf`,
          `dejavu-fonts-ttf/ttf/${font}.ttf`,
        ]),
      ),
      // Where the bundled `assets.js` of @uswarm/code-runner looks for them.
      'dist/pyodide/DejaVuSans.ttf': 'dejavu-fonts-ttf/ttf/DejaVuSans.ttf',
      ...Object.fromEntries(
        ['pyodide.mjs', 'pyodide.asm.mjs', 'pyodide.asm.wasm', 'pyodide-lock.json', 'python_stdlib.zip'].map((file) => [
          `dist/pyodide/${file}`,
          `pyodide/${file}`,
        ]),
      ),
    },
    pythonWheels: 'dist/pyodide',
  },
  {
    name: 'realtime-gateway',
    programs: ['main'],
    // With V8's default for a large container, the young generation grows while sockets connect and stays so: the process is
    // 80 MiB larger after 2,000 sockets.
    nodeOptions: '--max-semi-space-size=2',
  },
  { name: 'model-gateway', programs: ['main'] },
  { name: 'uswarm-webhook', programs: ['main'] },
  {
    name: 'uswarm-controller',
    programs: ['main', 'drain-main'],
    // A larger young generation for short-lived reconcile objects. With V8's default for a small container, scavenges
    // take much processor time. With 32 MiB, V8 marks the heap without a pause from 1,000 UserSwarms:
    // docs/adr/0045-keep-the-heap-of-the-controller-small.md
    nodeOptions: '--max-semi-space-size=16',
  },
  // `main` and `cli` find the last two beside them: a thread, and a process per PDF file.
  { name: 'searxng-client', programs: ['main', 'cli', 'extract-worker', 'file-reader-main'] },
  {
    name: 'agent-runtime',
    programs: ['main'],
    // A runtime is mostly idle, and there is one per workspace: a small V8 semi-space, and a collector for
    // `src/startup-garbage.ts`.
    nodeOptions: '--max-semi-space-size=1 --expose-gc',
    // Saves a call and a property per function, 1 MiB in each runtime. Only names that occur twice change.
    keepNames: false,
    warmUp: {
      USWARM_WORKSPACE_ID: 'warm-up',
      USWARM_USER_ID: 'warm-up',
      USWARM_RUNTIME_HOST: '127.0.0.1',
      USWARM_RUNTIME_PORT: '0',
      // The private key was not stored.
      USWARM_CALL_PUBLIC_KEY:
        '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEATEwslEwkMJm5lzqOQjVgBepePAIq16o7Aubi12/HkYc=\n-----END PUBLIC KEY-----\n',
    },
  },
];

/** For which images are released. */
export const RELEASED_PLATFORMS = ['linux/amd64', 'linux/arm64'];

/** A shell and the programs that an entry point calls. */
const SHELL = [
  'mkdir -p usr/bin bin',
  'for name in sh cat chmod cp date echo env false grep hostname id kill ls mkdir mktemp ps rm sed sleep tail test touch true wget; do ' +
    '[ -e bin/$name ] || [ -e usr/bin/$name ] || ln -s /bin/busybox bin/$name; done',
];

/** Files that these packages need only during installation. */
const INSTALLERS = [
  'usr/share/{perl,i18n,dpkg,postgresql-common,initramfs-tools,polkit-1,ucf,usrmerge}',
  'usr/lib/*/libperl*',
  'usr/{sbin,bin}/{perl*,dpkg*,update-*,deb-systemd*,openssl,localedef}',
  'sbin/ldconfig',
];

/** @type {import('./debian.mjs').DebianRoot} Without the query compiler, which is three quarters of its size. */
export const postgres = {
  name: 'postgres',
  packages: ['postgresql-15', 'libnss-wrapper', 'busybox-static', 'tzdata', 'netbase'],
  remove: [
    ...INSTALLERS,
    'usr/lib/*/lib{LLVM,z3}*',
    'usr/lib/postgresql/15/lib/{bitcode,llvmjit*}',
    'lib/{systemd,init,lsb,modprobe.d}',
  ],
  commands: [
    ...SHELL,
    // The package links to a path in /etc that only its installer creates.
    'cp usr/share/postgresql/15/*.sample usr/share/postgresql/15/ 2>/dev/null || true',
    'mkdir -p var/lib/postgresql/data var/run/postgresql',
    'chown 65532:65532 var/lib/postgresql/data var/run/postgresql',
  ],
};

/** @type {import('./debian.mjs').DebianRoot} redis-cli is compatible; the wheel has no client. */
export const valkey = {
  name: 'valkey',
  packages: ['libc6', 'redis-tools', 'busybox-static'],
  remove: [...INSTALLERS, 'usr/bin/redis-{check,bench}*', 'lib/{systemd,init,lsb}'],
  commands: [...SHELL, 'ln -s redis-cli usr/bin/valkey-cli', 'mkdir data; chown 65532:65532 data'],
};

/** @type {import('./debian.mjs').DebianRoot} */
export const searxng = {
  name: 'searxng',
  packages: ['python3', 'libstdc++6', 'ca-certificates', 'media-types', 'tzdata', 'netbase'],
  remove: [
    ...INSTALLERS,
    'usr/lib/python3.11/{pydoc_data,lib2to3,distutils,ensurepip,idlelib,tkinter,turtledemo,unittest,test}',
  ],
  commands: [
    'mkdir -p etc/ssl/certs; cat usr/share/ca-certificates/mozilla/*.crt > etc/ssl/certs/ca-certificates.crt',
    // An empty theme: SearXNG needs these folders to start; JSON needs no templates.
    'mkdir -p opt/searxng/packages/src/searxng_core/searx/{static/themes,templates}/simple',
  ],
};

/** @type {import('./debian.mjs').DebianRoot} Request bodies are always written to /tmp. */
export const edge = {
  name: 'edge',
  packages: ['nginx', 'tzdata'],
  remove: [
    ...INSTALLERS,
    '{bin,sbin}/*',
    'usr/bin',
    'usr/share/nginx/html',
    'lib/{systemd,init,lsb}',
    'var/{lib,log}/nginx',
  ],
  commands: [
    'mkdir -p var/log/nginx; ln -s /tmp var/lib/nginx',
    'ln -s /dev/stdout var/log/nginx/access.log; ln -s /dev/stderr var/log/nginx/error.log',
  ],
};

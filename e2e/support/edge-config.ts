import type { Kinds } from './kinds.js';

/** Addresses `host:port` of the pods behind an Ingress backend. */
export type Resolve = (service: string, port: string | number) => readonly string[];

export interface EdgeConfigOptions {
  ingress: Kinds['Ingress'];
  resolve: Resolve;
  /** Port of nginx. */
  port: number;
  certificateFile: string;
  keyFile: string;
}

const ANNOTATION = 'nginx.ingress.kubernetes.io/';

interface Location {
  path: string;
  exact: boolean;
  upstream: string;
}

/** A complete configuration with these blocks of `http`. nginx writes only to /tmp. */
export const nginxConfig = (blocks: string): string => `
worker_processes 1;
error_log /dev/stderr warn;
pid /tmp/nginx.pid;
events { worker_connections 1024; }
http {
  access_log /dev/stdout;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
${blocks}
}
`;

/** Renders the nginx configuration for an Ingress: hosts, paths, timeouts, cookie affinity. */
export function edgeConfig({ certificateFile, ingress, keyFile, port, resolve }: EdgeConfigOptions): string {
  const annotations = ingress.metadata?.annotations ?? {};
  const read = (name: string, fallback: string): string => annotations[`${ANNOTATION}${name}`] ?? fallback;
  const cookie = read('affinity', '') === 'cookie' ? read('session-cookie-name', 'INGRESSCOOKIE') : undefined;
  const upstreams = new Map<string, readonly string[]>();
  const hosts = (ingress.spec?.rules ?? []).map((rule) => ({
    name: rule.host ?? '_',
    locations: (rule.http?.paths ?? []).map((entry): Location => {
      const { name = '', port: backendPort } = entry.backend.service ?? {};
      const target = backendPort?.number ?? backendPort?.name ?? '';
      const upstream = `${name}_${target}`.replaceAll('-', '_');
      upstreams.set(upstream, resolve(name, target));
      return { path: entry.path ?? '/', exact: entry.pathType === 'Exact', upstream };
    }),
  }));
  const limits = {
    body: read('proxy-body-size', '1m'),
    read: read('proxy-read-timeout', '60'),
    send: read('proxy-send-timeout', '60'),
  };
  return nginxConfig(`  map $http_upgrade $connection_upgrade { default upgrade; '' close; }
${cookie === undefined ? '' : affinityMap(cookie)}${[...upstreams].map(([name, servers]) => upstreamBlock(name, servers, cookie)).join('')}
${hosts.map(({ name, locations }) => serverBlock(name, locations)).join('\n')}`);

  function serverBlock(name: string, locations: readonly Location[]): string {
    return `  server {
    listen ${port} ssl;
    server_name ${name};
    ssl_certificate ${certificateFile};
    ssl_certificate_key ${keyFile};
    client_max_body_size ${limits.body};
    proxy_read_timeout ${limits.read}s;
    proxy_send_timeout ${limits.send}s;
    proxy_http_version 1.1;
    proxy_buffering off;
    proxy_request_buffering off;
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto https;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $connection_upgrade;
${cookie === undefined ? '' : `    add_header Set-Cookie $affinity_cookie;\n`}${locations.map(locationBlock).join('')}${locations.some(({ path }) => path === '/') ? '' : '    location / { return 404; }\n'}
  }`;
  }
}

/** A client without the cookie receives one that selects its upstream. */
function affinityMap(cookie: string): string {
  return `  map $http_cookie $affinity {
    "~(^|;\\s*)${cookie}=(?<known>[0-9a-f]+)" $known;
    default $request_id;
  }
  map $http_cookie $affinity_cookie {
    "~(^|;\\s*)${cookie}=[0-9a-f]+" '';
    default "${cookie}=$request_id; Path=/; Secure; HttpOnly; SameSite=Lax";
  }
`;
}

function upstreamBlock(name: string, servers: readonly string[], cookie: string | undefined): string {
  const balance = cookie === undefined ? '' : '    hash $affinity consistent;\n';
  return `  upstream ${name} {\n${balance}${servers.map((server) => `    server ${server};\n`).join('')}  }\n`;
}

/** `Prefix` matches complete path elements: `/v1` does not match `/v10`. */
function locationBlock({ exact, path, upstream }: Location): string {
  const pass = `{ proxy_pass http://${upstream}; }`;
  const trimmed = path.replace(/\/$/, '');
  if (exact) return `    location = ${path} ${pass}\n`;
  if (trimmed === '') return `    location / ${pass}\n`;
  return `    location = ${trimmed} ${pass}\n    location ${trimmed}/ ${pass}\n`;
}

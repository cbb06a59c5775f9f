import { readFileSync } from 'node:fs';
import type { DocumentOptions } from './security.js';

/** The installation that serves the documents. Without a public URL it is local mode with its defaults. */

/** All packages have the product's version. */
export function productVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}

const LOCAL = { url: 'http://localhost:8080', description: 'Local mode' };

export const restServers = ({ publicUrl }: DocumentOptions): { url: string; description?: string }[] =>
  publicUrl === undefined ? [LOCAL] : [{ url: publicUrl.replace(/\/+$/, '') }];

/** Realtime servers, by name. */
export function realtimeServers({ publicUrl }: DocumentOptions): Record<string, Record<string, string>> {
  const { host, protocol, pathname } = new URL(publicUrl ?? LOCAL.url);
  const server = {
    host,
    pathname: `${pathname.replace(/\/+$/, '')}/socket.io/`,
    protocol: protocol === 'https:' ? 'wss' : 'ws',
  };
  return publicUrl === undefined ? { local: { ...server, description: LOCAL.description } } : { public: server };
}

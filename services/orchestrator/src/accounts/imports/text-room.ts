import type { SwarmFile } from '@uswarm/swarm-file';
import { ImportFailed } from './import-failed.js';

/** All members but files are text. @throws ImportFailed `too_large` if it has more than `maxBytes` */
export function requireTextRoom(members: SwarmFile['manifest']['members'], maxBytes: number): void {
  const texts = members.filter(({ path }) => !path.startsWith('files/'));
  const bytes = texts.reduce((sum, { size }) => sum + size, 0);
  if (bytes > maxBytes) throw new ImportFailed('too_large', 'the tables and documents are too large');
}

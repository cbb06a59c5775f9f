import { describe, expect, it } from '@jest/globals';
import { artifactPath, filePath, tablePath } from '@uswarm/swarm-file';
import { requireTextRoom } from './text-room.js';

const ID = '01931a5e-7c00-7000-8000-000000000001';
const member = (path: string, size: number) => ({ path, size, sha256: '' });

describe('the text of an import', () => {
  it('is limited in all tables and documents together, and not in files', () => {
    const members = [
      member(tablePath('messages'), 4),
      member(artifactPath(ID, 1), 3),
      member(artifactPath(ID, 2), 3),
      member(filePath(ID), 1_000),
    ];
    expect(() => requireTextRoom(members, 10)).not.toThrow();
    expect(() => requireTextRoom(members, 9)).toThrow(expect.objectContaining({ problem: 'too_large' }));
  });
});

import { gzipSync } from 'node:zlib';

/**
 * @typedef {object} ArchivedFile
 * @property {string} name
 * @property {Buffer} content
 * @property {boolean} [executable]
 */

/** Archives of the same files are equal. Zip files have local times, from 1980. */
const OWNER = { uid: 0, gid: 0, mtime: 0 };
const ZIP_TIME = new Date(1980, 0, 1);

/** @param {ArchivedFile[]} files @returns {Promise<Buffer>} a .tar.gz */
export async function tarGz(files) {
  const { createTar } = await import('nanotar');
  const entries = files.map(({ name, content, executable = false }) => {
    return { name, data: content, attrs: { ...OWNER, mode: executable ? '755' : '644' } };
  });
  return gzipSync(createTar(entries), { level: 9 });
}

/** @param {ArchivedFile[]} files @returns {Promise<Buffer>} a .zip */
export async function zip(files) {
  const { zipSync } = await import('fflate');
  const entries = Object.fromEntries(files.map(({ name, content }) => [name, content]));
  return Buffer.from(zipSync(entries, { level: 9, mtime: ZIP_TIME }));
}

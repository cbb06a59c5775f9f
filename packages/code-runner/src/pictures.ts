import { readFileSync } from 'node:fs';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { assetOf } from './assets.js';

const FONT = 'DejaVu Sans';
/** Sharp on screens with two pixels per point. */
const ZOOM = 2;

const isSvg = (text: string): boolean => /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^]*?-->\s*)*<svg[\s>]/.test(text);

/** Reads files, so it comes before the realm closes. @returns draws files that have the ending `.png`, but are SVG */
export function preparePictures() {
  const wasm = readFileSync(new URL(import.meta.resolve('@resvg/resvg-wasm/index_bg.wasm')));
  const font = new Uint8Array(readFileSync(assetOf('dejavu-fonts-ttf/ttf/DejaVuSans.ttf')));
  let isReady = false;

  async function draw(svg: string): Promise<Uint8Array> {
    if (!isReady) await initWasm(wasm);
    isReady = true;
    const fonts = { fontBuffers: [font], defaultFontFamily: FONT, sansSerifFamily: FONT, serifFamily: FONT };
    const picture = new Resvg(svg, { fitTo: { mode: 'zoom', value: ZOOM }, background: 'white', font: fonts });
    return picture.render().asPng();
  }

  return async (files: ReadonlyMap<string, Uint8Array>): Promise<Map<string, Uint8Array>> => {
    const drawn = new Map(files);
    for (const [name, bytes] of files) {
      const text = /\.png$/i.test(name) ? new TextDecoder().decode(bytes) : '';
      // A picture that cannot be drawn does not change.
      if (isSvg(text)) drawn.set(name, await draw(text).catch(() => bytes));
    }
    return drawn;
  };
}

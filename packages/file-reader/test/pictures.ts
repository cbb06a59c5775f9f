import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  ImageMagick,
  initializeImageMagick,
  MagickColor,
  MagickColors,
  MagickFormat,
  MagickImage,
  MagickImageCollection,
} from '@imagemagick/magick-wasm';

export async function startEncoder(): Promise<void> {
  const { resolve } = createRequire(import.meta.url);
  await initializeImageMagick(readFileSync(resolve('@imagemagick/magick-wasm/magick.wasm')));
}

/** A picture of one colour with noise, as a photo has, or without. */
export function picture(
  format: MagickFormat,
  {
    width = 300,
    height = 200,
    color = 'orange',
    noise = false,
  }: {
    width?: number;
    height?: number;
    color?: string;
    noise?: boolean;
  } = {},
): Buffer {
  const image = MagickImage.create(new MagickColor(color), width, height);
  // Uniform noise; the seed of ImageMagick is random.
  if (noise) image.addNoise(1);
  const bytes = image.write(format, (data) => Buffer.from(data));
  image.dispose();
  return bytes;
}

/** Two frames, the first one red. */
export function animation(): Buffer {
  const frames = MagickImageCollection.create();
  for (const color of [MagickColors.Red, MagickColors.Blue]) frames.push(MagickImage.create(color, 20, 10));
  const bytes = frames.write(MagickFormat.Gif, (data) => Buffer.from(data));
  frames.dispose();
  return bytes;
}

/** The colour at a place, such as `#ff0000`. */
export function colorAt(bytes: Uint8Array, x: number, y: number): string {
  return ImageMagick.read(bytes, (image) =>
    image.getPixels((pixels) => pixels.getColor(x, y)?.toString() ?? 'none').slice(0, 9),
  );
}

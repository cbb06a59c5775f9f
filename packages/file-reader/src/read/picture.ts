import {
  AlphaAction,
  ColorSpace,
  ImageMagick,
  initializeImageMagick,
  MagickColors,
  MagickFormat,
  MagickImageInfo,
  MagickReadSettings,
  ResourceLimits,
  type IMagickImage,
} from '@imagemagick/magick-wasm';
import type { Picture } from '../file-reader.js';
import { corrupt, ProblemError } from './problem.js';
import { readWasm } from './wasm.js';

/** Models look at no more pixels on the longer side. */
const MAX_SIDE = 1_568;

/** Limits the encoded picture. */
const MAX_BYTES = 1.5 * 1000 * 1000;

/** More pixels would need more memory than the process may have. JPEG is decoded at a fraction of its size. */
const MAX_PIXELS = 64_000_000;
const MAX_JPEG_PIXELS = 250_000_000;

/** Formats that are decoded, by extension. ImageMagick never guesses: it knows a hundred others. */
const FORMATS: Record<string, MagickFormat> = {
  jpg: MagickFormat.Jpeg,
  png: MagickFormat.Png,
  webp: MagickFormat.WebP,
  gif: MagickFormat.Gif,
  bmp: MagickFormat.Bmp,
  heic: MagickFormat.Heic,
  avif: MagickFormat.Avif,
  tif: MagickFormat.Tiff,
};

/** Screenshots and drawings have these formats; they may be smaller and sharper as PNG. */
const LOSSLESS = new Set(['png', 'gif', 'bmp', 'tif', 'webp']);

let started: Promise<void> | undefined;

function start(): Promise<void> {
  started ??= initialize();
  return started;
}

async function initialize(): Promise<void> {
  await initializeImageMagick(readWasm(import.meta.resolve('@imagemagick/magick-wasm/magick.wasm')));
  ResourceLimits.width = 65_500n;
  ResourceLimits.height = 65_500n;
  ResourceLimits.memory = 400_000_000n;
  ResourceLimits.area = 400_000_000n;
  ResourceLimits.disk = 0n;
  ResourceLimits.maxProfileSize = 10_000_000n;
}

/** @param extension of a picture that `detect` found */
export async function readPicture(bytes: Uint8Array, extension: string): Promise<Picture> {
  await start();
  const format = FORMATS[extension] ?? MagickFormat.Unknown;
  const side = sizeOf(bytes, format);
  const settings = new MagickReadSettings({ format, frameIndex: 0, frameCount: 1 });
  // libjpeg scales while it decodes, to the next size above; it also enlarges.
  if (side > MAX_SIDE) settings.setDefine('jpeg:size', `${MAX_SIDE}x${MAX_SIDE}`);
  try {
    return ImageMagick.read(bytes, settings, (image) => {
      image.autoOrient();
      return encode(image, LOSSLESS.has(extension));
    });
  } catch (error) {
    throw magickProblem(error);
  }
}

/** Measures the longer side, in pixels. @throws ProblemError for too many */
function sizeOf(bytes: Uint8Array, format: MagickFormat): number {
  let size: { width: number; height: number };
  try {
    size = MagickImageInfo.create(bytes, new MagickReadSettings({ format, frameIndex: 0, frameCount: 1 }));
  } catch (error) {
    throw magickProblem(error);
  }
  const pixels = size.width * size.height;
  if (pixels > (format === MagickFormat.Jpeg ? MAX_JPEG_PIXELS : MAX_PIXELS)) {
    const millions = Math.round(pixels / 1e6);
    throw new ProblemError('too_large', `The picture has ${millions} million pixels, which is too many.`);
  }
  return Math.max(size.width, size.height);
}

function magickProblem(error: unknown): Error {
  if (error instanceof ProblemError) return error;
  const text = String((error as Error).message);
  if (/limit|exhausted|exceeds/i.test(text)) return new ProblemError('too_large', 'The picture is too large.');
  if (/allocation|memory/i.test(text))
    return new ProblemError('too_much_memory', 'Reading the picture needs too much memory.');
  return corrupt('picture');
}

/** @param pixels rows of blue, green, red and an unused byte */
export async function encodePixels(pixels: { bgra: Uint8Array; width: number; height: number }): Promise<Picture> {
  await start();
  const { width, height } = pixels;
  const settings = new MagickReadSettings({ format: MagickFormat.Bgra, width, height, depth: 8 });
  return ImageMagick.read(pixels.bgra, settings, (image) => {
    image.alpha(AlphaAction.Off);
    return encode(image, true);
  });
}

function encode(image: IMagickImage, lossless: boolean): Picture {
  if (image.colorSpace !== ColorSpace.sRGB && image.colorSpace !== ColorSpace.Gray) image.colorSpace = ColorSpace.sRGB;
  image.strip();
  shrink(image, MAX_SIDE);
  const transparent = image.hasAlpha && !image.isOpaque;
  const png = transparent || lossless ? write(image, MagickFormat.Png) : undefined;
  if (transparent && png !== undefined && png.length <= MAX_BYTES) return asPicture(image, 'image/png', png);
  if (image.hasAlpha) {
    image.backgroundColor = MagickColors.White;
    image.alpha(AlphaAction.Remove);
  }
  const jpeg = smallJpeg(image);
  // At the same size, PNG keeps thin lines and small letters.
  if (png !== undefined && png.length <= jpeg.length * 1.2 && png.length <= MAX_BYTES)
    return asPicture(image, 'image/png', png);
  return asPicture(image, 'image/jpeg', jpeg);
}

function smallJpeg(image: IMagickImage): Uint8Array {
  for (const quality of [85, 75, 60]) {
    image.quality = quality;
    const bytes = write(image, MagickFormat.Jpeg);
    if (bytes.length <= MAX_BYTES) return bytes;
  }
  shrink(image, Math.round(Math.max(image.width, image.height) / 2));
  return smallJpeg(image);
}

function shrink(image: IMagickImage, side: number): void {
  if (Math.max(image.width, image.height) > side) image.resize(side, side);
}

function write(image: IMagickImage, format: MagickFormat): Uint8Array {
  // The bytes are in the memory of ImageMagick and valid during the call.
  return image.write(format, (bytes) => bytes.slice());
}

function asPicture({ width, height }: IMagickImage, type: Picture['type'], bytes: Uint8Array): Picture {
  return { type, bytes, width, height };
}

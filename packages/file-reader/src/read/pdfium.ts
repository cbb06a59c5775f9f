import { init, type WrappedPdfiumModule } from '@embedpdf/pdfium';
import { corrupt, ProblemError } from './problem.js';
import { readWasm } from './wasm.js';

export const WHAT = 'PDF';

/** Of FPDF_GetLastError. */
const ERROR_PASSWORD = 4;
const ERROR_SECURITY = 5;

/** Moves when it grows. Its type is in the types of Emscripten, which the package does not bring. */
export function heap({ pdfium }: WrappedPdfiumModule): Uint8Array<ArrayBuffer> {
  return (pdfium as unknown as { HEAPU8: Uint8Array<ArrayBuffer> }).HEAPU8;
}

export interface Pdf {
  pdfium: WrappedPdfiumModule;
  document: number;
  total: number;
}

export async function openPdf(bytes: Uint8Array): Promise<Pdf> {
  const pdfium = await init({ wasmBinary: readWasm(import.meta.resolve('@embedpdf/pdfium/pdfium.wasm')).buffer });
  pdfium.PDFiumExt_Init();
  // Is never freed: PDFium reads from it.
  const copy = pdfium.pdfium.wasmExports.malloc(bytes.length);
  heap(pdfium).set(bytes, copy);
  const document = pdfium.FPDF_LoadMemDocument(copy, bytes.length, '');
  if (document === 0) {
    const { FPDF_GetLastError: lastCode } = pdfium;
    const code = lastCode();
    if (code === ERROR_PASSWORD || code === ERROR_SECURITY)
      throw new ProblemError('encrypted', 'The PDF is protected by a password.');
    throw corrupt(WHAT);
  }
  const total = pdfium.FPDF_GetPageCount(document);
  if (total === 0) throw corrupt(WHAT);
  return { pdfium, document, total };
}

/** @param write writes zero-terminated text and returns its bytes */
export function readUtf16(pdfium: WrappedPdfiumModule, characters: number, write: (target: number) => number): string {
  const { wasmExports } = pdfium.pdfium;
  const target = wasmExports.malloc(characters * 2);
  const bytes = write(target);
  // The memory may have grown and moved.
  const text = Buffer.from(heap(pdfium).buffer, target, Math.max(0, bytes - 2)).toString('utf16le');
  wasmExports.free(target);
  return text;
}

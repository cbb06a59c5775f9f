import { type Pdf, readUtf16 } from './pdfium.js';

/** @returns a page's fields, one per line */
export type FormReader = (page: number) => string;

/** Of FPDFAnnot_GetSubtype. */
const WIDGET = 20;
/** Of FPDFAnnot_GetFormFieldType. */
const CHECK_BOX = 2;
const RADIO_BUTTON = 3;
const LIST_BOX = 5;
const READ_TYPES = [CHECK_BOX, RADIO_BUTTON, 4, LIST_BOX, 6];
/** Of FPDFAnnot_GetFormFieldFlags, in text fields. */
const PASSWORD = 1 << 13;

const MAX_FIELDS = 2_000;
const MAX_VALUE_BYTES = 200_000;

/** Reads form fields, whose values are not part of a page's text. @returns undefined if the PDF has no form */
export function openForm({ pdfium, document }: Pdf): FormReader | undefined {
  if (pdfium.FPDF_GetFormType(document) === 0) return undefined;
  const form = pdfium.PDFiumExt_InitFormFillEnvironment(document, pdfium.PDFiumExt_OpenFormFillInfo());
  if (form === 0) return undefined;

  /** @param read writes as much as fits, and returns how many bytes there are */
  function text(read: (target: number, bytes: number) => number): string {
    const bytes = read(0, 0);
    if (bytes > MAX_VALUE_BYTES) return '(too long)';
    return readUtf16(pdfium, Math.max(1, Math.ceil(bytes / 2)), (target) => read(target, bytes)).trim();
  }

  function selected(field: number): string {
    const options = Array.from({ length: Math.min(MAX_FIELDS, pdfium.FPDFAnnot_GetOptionCount(form, field)) });
    const labels = options.map((_, index) =>
      pdfium.FPDFAnnot_IsOptionSelected(form, field, index)
        ? text((target, bytes) => pdfium.FPDFAnnot_GetOptionLabel(form, field, index, target, bytes))
        : '',
    );
    return labels.filter((label) => label !== '').join(', ');
  }

  /** @returns undefined for a button that is not chosen */
  function valueOf(field: number, type: number): string | undefined {
    const isChecked = pdfium.FPDFAnnot_IsChecked(form, field);
    if (type === CHECK_BOX) return isChecked ? 'checked' : 'not checked';
    if (type === RADIO_BUTTON)
      return isChecked
        ? text((target, bytes) => pdfium.FPDFAnnot_GetFormFieldExportValue(form, field, target, bytes))
        : undefined;
    if (type === LIST_BOX) return selected(field) || '(empty)';
    if ((pdfium.FPDFAnnot_GetFormFieldFlags(form, field) & PASSWORD) !== 0) return '(password)';
    return text((target, bytes) => pdfium.FPDFAnnot_GetFormFieldValue(form, field, target, bytes)) || '(empty)';
  }

  function lineOf(field: number): string | undefined {
    if (pdfium.FPDFAnnot_GetSubtype(field) !== WIDGET) return undefined;
    const type = pdfium.FPDFAnnot_GetFormFieldType(form, field);
    const value = READ_TYPES.includes(type) ? valueOf(field, type) : undefined;
    if (value === undefined) return undefined;
    const name =
      text((target, bytes) => pdfium.FPDFAnnot_GetFormFieldAlternateName(form, field, target, bytes)) ||
      text((target, bytes) => pdfium.FPDFAnnot_GetFormFieldName(form, field, target, bytes));
    return `${name}: ${value}`;
  }

  return (page) => {
    // A field that stands on a page several times has one line.
    const lines = new Set<string>();
    // Without it, all buttons seem to be unchecked.
    pdfium.FORM_OnAfterLoadPage(page, form);
    const count = Math.min(MAX_FIELDS, pdfium.FPDFPage_GetAnnotCount(page));
    for (let index = 0; index < count; index += 1) {
      const field = pdfium.FPDFPage_GetAnnot(page, index);
      if (field === 0) continue;
      const line = lineOf(field);
      if (line !== undefined) lines.add(line);
      pdfium.FPDFPage_CloseAnnot(field);
    }
    pdfium.FORM_OnBeforeClosePage(page, form);
    return lines.size === 0 ? '' : ['Form fields:', ...lines].join('\n');
  };
}

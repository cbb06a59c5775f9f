export interface ArtifactFile {
  /** Opens as plain text, because the model that wrote it may have read hostile content. */
  isSource: boolean;
  name: string;
  type: string;
}

/** Documents have no type, so the beginning tells HTML pages and SVG images from other text. */
export function fileOf(title: string, content: string): ArtifactFile {
  const start = content.trimStart().slice(0, 400).toLowerCase();
  const isHtml = /^<\s*(?:!doctype html|html|head|body|script)\b/.test(start);
  const isSvg = /^(?:<\s*\?xml[^>]*>\s*)?<\s*svg\b/.test(start);
  const name =
    title
      .replaceAll(/[^\p{L}\p{N} _.-]/gu, '')
      .replace(/^[. ]+/, '')
      .trim()
      .slice(0, 80) || 'document';
  if (isHtml) return { isSource: true, name: `${name}.html`, type: 'text/plain' };
  if (isSvg) return { isSource: true, name: `${name}.svg`, type: 'text/plain' };
  return { isSource: false, name: `${name}.md`, type: 'text/markdown' };
}

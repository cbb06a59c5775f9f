/**
 * Writes a page that neither runs scripts nor loads anything: the policy comes before everything that the text contains. The
 * browser opens the file without a server that could send the policy.
 */
const START = `<!doctype html>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:; form-action 'none'; base-uri 'none'">
`;

export const writeHtml = (content: string): string => START + content.replace(/^\s*<!doctype[^>]*>\s*/i, '');

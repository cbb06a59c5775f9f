import MailComposer from 'nodemailer/lib/mail-composer';

export interface OutgoingMail {
  /** With angle brackets. */
  messageId: string;
  to: readonly string[];
  cc: readonly string[];
  subject: string;
  text: string;
  /** `Message-ID` and `References` of the mail that this one answers. */
  answers?: { messageId: string; references: string };
}

/** Writes a mail as RFC 5322 requires. The provider adds the sender. */
export function composeMail({ messageId, to, cc, subject, text, answers }: OutgoingMail): Promise<Buffer> {
  const composer = new MailComposer({
    messageId,
    to: [...to],
    cc: [...cc],
    subject,
    text,
    ...(answers === undefined
      ? {}
      : { inReplyTo: answers.messageId, references: `${answers.references} ${answers.messageId}`.trim() }),
  });
  return composer.compile().build();
}

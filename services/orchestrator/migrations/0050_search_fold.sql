-- Up Migration

-- Normalizes text for the search: texts that people type alike are equal (see docs/adr/0013). Query and text use this one function.
--
-- 1. ASCII texts need only the steps 5 and 6.
-- 2. Spacing accents and double primes become quotation marks before NFKD splits them. Dotless i is i, because I is its capital. Single
--    vowels of Hangul and groups of consonants become private characters, because NFC would join them with the letter before: people
--    type ㅋㅠ for laughing and crying, and search for ㅠ.
-- 3. NFKD folds width, ligatures and spaces, and separates combining marks.
-- 4. Characters without a width are removed (controls, Default_Ignorable_Code_Point, annotations), and the vowel signs and elongations
--    of Arabic and Hebrew.
-- 5. Letter case is folded in full; i with a dot above is i.
-- 6. Apostrophes, quotation marks, dashes and other variants of ASCII punctuation become ASCII. Repeated dashes become one, because phones
--    replace two hyphens by a dash.
-- 7. NFC composes accents, so that they still distinguish words.
CREATE OR REPLACE FUNCTION search_fold(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN CASE
  WHEN value !~ '[^\t\n\r -~]' THEN regexp_replace(translate(lower(value), '`', ''''), '-{2,}', '-', 'g')
  ELSE normalize(
    translate(
      regexp_replace(
        regexp_replace(
          regexp_replace(
            replace(
              replace(
                lower(
                  regexp_replace(
                    normalize(
                      translate(
                        CASE WHEN value ~ '[\u3133-\u3163]' THEN translate(
                          value,
                          E'\u3133\u3135\u3136\u313a\u313b\u313c\u313d\u313e\u313f\u3140\u3144\u314f\u3150\u3151\u3152\u3153'
                          '\u3154\u3155\u3156\u3157\u3158\u3159\u315a\u315b\u315c\u315d\u315e\u315f\u3160\u3161\u3162\u3163',
                          E'\uf133\uf135\uf136\uf13a\uf13b\uf13c\uf13d\uf13e\uf13f\uf140\uf144\uf14f\uf150\uf151\uf152\uf153'
                          '\uf154\uf155\uf156\uf157\uf158\uf159\uf15a\uf15b\uf15c\uf15d\uf15e\uf15f\uf160\uf161\uf162\uf163'
                        ) ELSE value END,
                        E'\u00b4\u0384\u1fbd\u1fbf\u1ffd\u1ffe\u2033\u2036\u02dd\u02dcı\U0001d6a4', '''''''''''''"""~ii'
                      ),
                      NFKD
                    ),
                    '[\u0001-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u034f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7'
                    '\u0610-\u061a\u061c\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed'
                    '\u08ca-\u08e1\u08e3-\u08ff\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164'
                    '\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+',
                    '', 'g'
                  )
                ),
                'ß', 'ss'
              ),
              E'i\u0307', 'i'
            ),
            '[`\u02b9\u02bb-\u02bf\u02c8\u02ca\u02cb\u0559\u055a\u05f3\u07f4\u07f5\u2018-\u201b\u2032\u2035\u2039\u203a\u275b\u275c\u275f\ua78c]',
            '''', 'g'
          ),
          '[\u00ab\u00bb\u02ba\u02ee\u05f4\u201c-\u201f\u275d\u275e\u2760\u276e\u276f\u2e42\u3003\u300c-\u300f\u301d-\u301f\U0001f676-\U0001f678]',
          '"', 'g'
        ),
        '[-\u02d7\u058a\u05be\u1400\u1806\u2010-\u2015\u2043\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u3030\u30a0\U00010d6e\U00010ead]+',
        '-', 'g'
      ),
      -- Final sigma, iota subscript, Cyrillic letters without an own capital, spaces, and mathematical and other operators.
      E'ς\u0345\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85\u1c86\u1c87\u1c88'
      '\u0085\u1680\u2028\u2029\u2800\u2053\u223c\u301c\u2044\u2215\u29f8\u2236\ua789\u204e\u2217\u2223\u2216\u2027\u2219\u22c5',
      E'σιвдосттъѣꙋ     ~~~///::**|\\···'
    ),
    NFC
  )
END;

-- These jobs normalize existing rows again, in small batches. Older replicas use the new function too, for queries and for new rows.
INSERT INTO work (kind, subject_id, workspace_id, serial_key)
SELECT kind, none, none, none
FROM (VALUES ('search-fold'), ('memory-fold')) jobs (kind),
  (VALUES ('00000000-0000-0000-0000-000000000000'::uuid)) ids (none)
WHERE EXISTS (SELECT FROM messages) OR EXISTS (SELECT FROM agent_memories);

-- Down Migration

DELETE FROM work WHERE kind IN ('search-fold', 'memory-fold');

CREATE OR REPLACE FUNCTION search_fold(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN translate(lower(normalize(value, NFKC)), 'ς', 'σ');

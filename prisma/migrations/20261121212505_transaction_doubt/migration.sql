-- AlterTable
ALTER TABLE "transaction" ADD COLUMN     "doubted_at" TIMESTAMPTZ(3);

-- Below this line: written by hand, kept by `npm run db:diff -- --amend`.
